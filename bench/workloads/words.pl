# Splitting, matching, hashing and sorting text. words.pl COUNT
use strict;
use warnings;

my $count = shift;
my ($matched, %seen) = (0);
for my $i (1 .. $count) {
    my $line = "line $i of the text: " . $i * 7919 % 9973 . " and " . $i * 104729 % 7919;
    my (undef, $word, $rest) = split / /, $line, 3;
    my ($sum, $at) = (0, 0);
    $sum += ord substr $line, $at++, 1 while $at < length $line;
    $matched++ while $line =~ /(\d)[0-9]*\1/g;
    $seen{$sum}++;
    $seen{ $word % 5000 } = $rest if $sum % 7 == 0;
    $line =~ tr/a-z/A-Z/;
}
my @ordered = sort { $a <=> $b } keys %seen;
print scalar(@ordered), " $matched ", join(",", @ordered[0 .. 4]), "\n";
