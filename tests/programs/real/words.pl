# Counts words and builds long strings of them.
use strict;
my (%seen, @all);
open my $in, "<", "words.txt" or die;
while (<$in>) {
    for my $word (/([a-z]+)/g) {
        $seen{$word}++;
        push @all, $word x 3;
    }
}
my @top = (sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen)[0..19];
printf "%s %d\n", $_, $seen{$_} for @top;
print length(join "", map { s/a/xyz/gr } @all), "\n";
