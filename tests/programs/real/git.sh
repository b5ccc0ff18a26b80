# A small history, read back in several ways.
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_CONFIG_NOSYSTEM=1 HOME="$PWD"
git init -q -b main r && cd r && git config user.name n && git config user.email e
for i in 1 2 3 4 5; do cp ../words.txt file$i && echo $i >> file$i; done
git add . && git commit -qm one && sed -i s/a/b/ file3 && git commit -qam two
git log -p --stat | head -200 && git -c pack.threads=1 repack -adq && git fsck 2>/dev/null && git rev-parse HEAD
git blame file3 | tail -3
