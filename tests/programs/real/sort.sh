tr ' ' '\n' < words.txt | sort --parallel=4 -S 1M | uniq -c | sort -rn | head -30
