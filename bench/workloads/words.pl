# Splitting, hashing, sorting and joining text. words.pl COUNT
use strict;
use warnings;

my $count = shift;
my %seen;
for my $i (1 .. $count) {
    my $line = join " ", map { ($i * $_) % 9973 } 1 .. 12;
    for my $word (split / /, $line) {
        push @{ $seen{$word} }, $i if @{ $seen{$word} // [] } < 40;
    }
}
my @ordered = sort { @{ $seen{$b} } <=> @{ $seen{$a} } or $a <=> $b } keys %seen;
print scalar(@ordered), " ", join(",", @ordered[0 .. 4]), "\n";
