xz -T2 -k words.txt && xz -dc words.txt.xz | cksum
