xmllint --xpath '//item[@n>990]' tree.xml; xmllint --c14n tree.xml | cksum
