# The material of the work that is compared: a repository of 1,000 files, 50 C
# files, and a small project with tests whose 20 packages lie beside it. Run in an empty
# folder; needs git and, for the project, npm.
set -eu
mkdir repo src
i=0
while [ $i -lt 1000 ]; do
	dir=repo/part$((i % 50))
	mkdir -p $dir
	printf 'file %d\nof a repository\nthat is made for measuring\n%d\n' $i $((i * 7919)) >$dir/file$i.txt
	i=$((i + 1))
done
cd repo
git init -q .
git add .
git -c user.name=bench -c user.email=bench@localhost commit -q -m 'A thousand files'
cd ..

i=0
while [ $i -lt 50 ]; do
	cat >src/unit$i.c <<C
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int unit$i(int n) {
	char *text = malloc(64);
	int sum = 0;
	for (int k = 0; k < n; k++) {
		snprintf(text, 64, "%d of %d", k, $i);
		sum += strlen(text);
	}
	free(text);
	return sum;
}
C
	i=$((i + 1))
done

command -v npm >/dev/null || exit 0
mkdir -p app/packages
dependencies=
i=0
while [ $i -lt 20 ]; do
	mkdir -p make/lib
	printf '{"name":"bench-part%d","version":"1.0.0","main":"lib/f0.js"}' $i >make/package.json
	f=0
	while [ $f -lt 20 ]; do
		printf 'module.exports = %d;\n' $((i * 100 + f)) >make/lib/f$f.js
		f=$((f + 1))
	done
	(cd make && npm pack --silent --pack-destination ../app/packages >/dev/null)
	rm -r make
	dependencies="$dependencies${dependencies:+,}\"bench-part$i\":\"file:packages/bench-part$i-1.0.0.tgz\""
	i=$((i + 1))
done
cd app
printf '{"name":"bench-app","version":"1.0.0","private":true,"scripts":{"test":"node --test"},"dependencies":{%s}}' "$dependencies" >package.json
i=0
while [ $i -lt 20 ]; do
	printf 'require("node:test")("part %d", () => require("node:assert").equal(require("bench-part%d"), %d));\n' $i $i $((i * 100)) >>parts.test.js
	i=$((i + 1))
done
npm install --silent --offline --no-audit --no-fund --package-lock-only
