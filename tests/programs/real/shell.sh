# Many short processes in pipelines.
for i in $(seq 30); do echo $((i * i)) | sed s/1/one/g; done |
  awk '{ n[length($0)]++ } END { for (k in n) print k, n[k] }' | sort
find . -maxdepth 1 -name '*.txt' -exec md5sum {} + | cut -c1-32
tar --mtime=@0 -cf - words.txt | gzip -n | cksum
