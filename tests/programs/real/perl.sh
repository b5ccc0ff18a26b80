PERL_HASH_SEED=0 perl words.pl
