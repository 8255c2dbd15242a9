package policy

import "testing"

const noRemoving = "default allow; deny bash rm *"

// What bash evaluates after it has expanded it is read as what it is.
func TestEvaluatedTextIsRead(t *testing.T) {
	decideAll(t, try(t, noRemoving), Deny,
		"test -v 'a[$(rm F)]'", "[ -v 'a[$(rm F)]' ]", "[ ! -v 'a[`rm F`]' ]", "[[ -v 'a[$(rm F)]' ]]", "printf -v 'a[$(rm F)]' x", "printf '-va[$(rm F)]' x", "let 'a[$(rm F)]=1'", "read 'a[$(rm F)]'", "read -r x 'a[$(rm F)]'",
		"declare 'a[$(rm F)]=1'", "typeset 'a[$(rm F)]=1'", "f() { local 'a[$(rm F)]=1'; }; f", "export 'a[$(rm F)]=1'", "readonly 'a[$(rm F)]=1'", "command declare 'a[$(rm F)]=1'", "declare -a 'x=($(rm F))'",
		"unset 'a[$(rm F)]'", "builtin unset -v 'a[$(rm F)]'", "mapfile 'a[$(rm F)]'", "readarray -t 'a[$(rm F)]' <f", "getopts a 'a[$(rm F)]'", "wait -n -p 'a[$(rm F)]'",
		"x='a[$(rm F)]'; (( x ))", "x='a[$(rm F)]'; echo $((x + 1))", "x='a[$(rm F)]'; echo $(( $x ))", "x='a[$(rm F)]'; y=x; ((y))", "b='a[$(rm F)]'; echo ${c[b]}", "b='a[$(rm F)]'; c[b]=1", "b='a[$(rm F)]'; c=([b]=1)",
		"declare -i n; n='a[$(rm F)]'", "declare -i n='a[$(rm F)]'", "x='a[$(rm F)]'; [[ $x -eq 1 ]]", "x='a[$(rm F)]'; [[ 1 -lt x ]]", "b='a[$(rm F)]'; echo ${!b}", "x='$(rm F)'; echo ${x@P}", "b='a[$(rm F)]'; echo ${x:b:c}", "b='a[$(rm F)]'; echo ${x:0:b}",
		"for x in 'a[$(rm F)]'; do ((x)); done", "x='a[$(rm F)]' bash -c '((x))'", "env x='a[$(rm F)]' bash -c '((x))'", "f() { echo $(( $1 )); }; f 'a[$(rm F)]'", "set -- 'a[$(rm F)]'; (( $1 ))", "bash -c '(( $1 ))' _ 'a[$(rm F)]'", "for ((i='a[$(rm F)]';;)); do :; done",
		"a=('b[$(rm F)]'); (( a ))", ": ${x:='a[$(rm F)]'}; ((x))", "declare -n r='a[$(rm F)]'; echo $r", "x='a[$(rm F)]'; let y=x", "x='a[$(rm F)]'; test -v $x", "x='a[$(rm F)]'; unset $x",
		"x='a[$(rm F)]'; : >&$x", ": >&'$(rm F)'", "exec {a[$(rm F)]}>f", "RANDOM='a[$(rm F)]'", "x='a[$(rm F)]'; echo ${@:x}", "k='a[$(rm F)]'; unset \"m[$k]\"", "[ -z '' -a -v 'a[$(rm F)]' ]",
		"PS4='$(rm F)' bash -x s", "PS4='$(rm F)'; set -x; ls", "export PS1='$(rm F)'; bash -i", "PROMPT_COMMAND='rm F' bash -i", "BASH_ENV='$(rm F)' bash -c :", "ENV='`rm F`' sh -i",
	)
	decideAll(t, try(t, noRemoving), Ask,
		"read x; ((x))", "x=$(cat f); echo $((x))", "echo $(( $(cat f) ))", "b='a[$(rm F)]'; exec {a[b]}>f", "x='a[$('; y='rm F)]'; (( $x$y ))", "x=a; y=$(cat f); (( $x$z ))", "mapfile -t a <f; (( a[0] ))", "while read n; do s=$((s+n)); done", "printf -v x %s y; ((x))",
		"read $v <f; ((x))", ": 'a[]'; (( _ ))", "[[ f =~ (.*) ]]; (( BASH_REMATCH[1] ))", "wc() { cat f; }; echo $(( $(wc -l) ))", "declare -i n=$(cat f)", "x=$(cat f); echo ${!x}", "x=$(cat f); echo ${x@P}", "x=$(cat f); unset $x", "x=$(cat f); [[ -v $x ]]",
		"declare -n r=PATH; r=.", "for f in *; do ((f)); done", "x='-v a[$(rm${IFS}F)]'; [ $x ]", "declare $'x\\x3d1'", "export $X", "for PATH in .; do ls; done", "read PATH <f; ls", "printf -v PATH .; ls", ": ${PATH:=.}", "unset PATH; ls", "PS4=$X bash -x s", "declare -A m; m[$(cat f)]=1; for k in ${!m[@]}; do ((k)); done",
	)
}

// Programs and variables that name a command.
func TestStartedCommandsAreRead(t *testing.T) {
	decideAll(t, try(t, noRemoving), Deny,
		"choom -n 0 -- rm F", "sg agent -c 'rm F'", "sg agent 'rm F'", "split --filter='rm F' x", "split --filter 'rm F' x", "env -S 'rm F'", "env '-Srm F'", "parallel rm ::: F", "ssh host rm F", "su -c 'rm F'", "su - agent -c 'rm F'", "runuser -u agent -- rm F",
		"unshare -r rm F", "nsenter -t 1 rm F", "capsh -- -c 'rm F'", "start-stop-daemon --start --exec /bin/rm -- F", "start-stop-daemon -S --startas=/bin/rm -- F", "systemd-run --user rm F", "strace -f rm F", "ltrace rm F", "gdb -ex 'shell rm F'", "gdb --args rm F", "tar --to-command='rm F' -xf x", "tar --checkpoint=1 --checkpoint-action='exec=rm F' -cf x y",
		"tar --checkpoint=1 --checkpoint-action=exec=rm -cf x y", "tar -I 'rm F' -xf x", "rsync -e 'rm F' a b:", "find . -ok rm {} ';'", "vim -c '!rm F'", "ionice -c 3 rm F", "chrt -b 0 rm F", "taskset 1 rm F", "prlimit --nofile=9 rm F", "setarch x86_64 rm F", "linux64 rm F", "script -qc 'rm F' f", "flock f rm F", "flock f -c 'rm F'",
		"cpulimit -l 10 -- rm F", "time rm F", "docker run -v /:/h i rm -rf /h", "npm exec -c 'rm F'", "npm exec -- rm F", "npx -c 'rm F'", "uv run rm F", "uv run --frozen rm F", "poetry run sh -c 'rm F'", "bundle exec rm F", "pnpm exec rm F", "npx rm F", "jobs -x rm F", "compgen -C 'rm F'", "mapfile -C 'rm F' a", "socat - EXEC:'rm F'",
		"GIT_EXTERNAL_DIFF='rm F' git diff", "GIT_SSH_COMMAND='rm F' git fetch", "GIT_SSH=rm git fetch", "GIT_PAGER='rm F' git log", "PAGER='rm F' git log", "EDITOR='rm F' git commit", "VISUAL=rm git commit", "GIT_EDITOR=rm git commit", "GIT_SEQUENCE_EDITOR='rm F' git rebase -i x", "GIT_ASKPASS=rm git fetch", "SSH_ASKPASS=rm git fetch", "LESSOPEN='|rm %s' less F",
		"MANPAGER='rm F' man ls", "export PAGER='rm F'; git log", "export GIT_EDITOR=rm; git commit", "env GIT_PAGER='rm F' git log", "env -i -u X EDITOR=rm git commit", "command export PAGER='rm F'", "sudo PAGER='rm F' git log", "CC='rm F' make", "git -c core.pager='rm F' log", "git -c alias.x='!rm F' x", "git config core.fsmonitor 'rm F'; git status", "git config --global alias.x '!rm F'", "git fetch --upload-pack='rm F'", "git clone --upload-pack 'rm F' x", "git clone -u 'rm F' x", "git clone -c core.sshCommand='rm F' x", "git push --receive-pack='rm F'", "git grep --open-files-in-pager='rm F' x", "git fetch 'ext::rm F'",
		"git submodule foreach rm F", "git rebase -x 'rm F' main", "git bisect run rm F", "timeout $X rm F", "hash -p /bin/rm ls", "tmux new rm", "tar cIf rm F", "sudo --weird rm F", "env --weird rm F",
		". /dev/stdin <<< 'rm F'", "source /dev/stdin <<E\nrm F\nE", "sh /dev/fd/3 3<<<'rm F'", "bash /proc/self/fd/0 <<< 'rm F'", "sh -s <<< 'rm F'", "bash - <<< 'rm F'",
	)
	decideAll(t, try(t, noRemoving), Ask,
		"newgrp agent", "choom -n 0 -- $X", "sg agent", "LD_PRELOAD=./x.so ls", "PYTHONSTARTUP=x python3 -m y", "PERL5OPT=-Mx perl x", "NODE_OPTIONS='--require ./x' node y", "RUBYOPT=-rx ruby y", "BASH_ENV=x bash -c ls", "ENV=x sh -c ls", "HOME=. bash -i -c ls", "HOME=. bash -lc ls", "export HOME=.; bash -l x", "GIT_PAGER=$X git log", "GIT_CONFIG_COUNT=1 git log", "docker exec c ls", "make --eval=x", "uv run $X", "awk 'BEGIN { system(\"rm F\") }'", "ed F <<< '!rm F'",
		"cat z | bash /dev/stdin", "cat z | . /dev/stdin", "sh /dev/fd/3 3<f", "bash <(cat z)", ". <(cat z)", "X=/dev/stdin; . $X <<< 'rm F'", "source /dev/$X <f", "PATH=. ls F", "env PATH=. ls F", "export PATH=.", "command export PATH=.", "PATH+=:. ls", "hash -p ./x ls", "enable -f ./x ls", "bash -c 'PATH=. ls F'",
	)
}

// Ordinary commands of coding agents are left alone.
func TestOrdinaryCommandsPass(t *testing.T) {
	decideAll(t, try(t, noRemoving), Allow,
		"git status", "git diff --stat HEAD~1", "git log --oneline -5", "git add -A && git commit -m 'Fix it'", "git checkout -b x", "git push origin HEAD", "git rebase main", "git stash pop", "git show HEAD:a.go | head -50", "git -C sub status -s", "git grep -n foo", "git blame -L 1,9 x", "git config user.name x", "git config --get remote.origin.url", "git clone https://example.com/a.git", "git fetch --all --prune",
		"git -c user.name=a -c user.email=b@c commit -m x", "git --no-pager diff", "GIT_PAGER=cat git log", "PAGER=cat git diff", "GIT_EDITOR=true git rebase --continue", "EDITOR=: git commit --amend", "GIT_TERMINAL_PROMPT=0 git fetch", "git commit -m \"$(cat <<'E'\nFix $(rm) in [a]\nE\n)\"",
		"npm install", "npm ci", "npm test", "npm run build", "npm install xterm express", "npm run exec-tests", "npx prettier --write .", "npx tsc --noEmit", "pnpm install", "pnpm exec eslint .", "yarn test --watch=false", "NODE_OPTIONS=--max-old-space-size=4096 npm run build", "NODE_ENV=test node x.js", "CI=1 npx jest -t 'a b'",
		"go build ./...", "go test -race -run 'TestX|TestY' ./...", "CGO_ENABLED=0 GOFLAGS=-mod=mod go vet ./...", "GOFLAGS='-mod=mod -count=1' go test ./...", "gofmt -l -w .", "cargo test --all", "cargo clippy -- -D warnings", "RUSTFLAGS='-D warnings' cargo build", "RUST_BACKTRACE=1 cargo run -- x", "pytest -q -k 'a and b'", "python3 -m pytest tests", "PYTHONPATH=. pytest", "uv run pytest -q", "uv sync", "poetry run mypy .", "pip install -r requirements.txt", "python3 s.py --all", "python -m venv .venv && . .venv/bin/activate", "source $HOME/.cargo/env", ". \"$VENV/bin/activate\"", "bundle exec rspec",
		"grep -rn 'a[b]' --include='*.go' . | head -20", "rg -n 'x\\[$' src", "sed -i 's/foo/bar/g' x.go", "sed -n '10,20p' x.go", "sed -i.bak -e '/^$/d' x", "find . -name '*.go' -not -path './vendor/*' | wc -l", "find . -type f -newer x", "ls -la | sort -k5 -n | tail -3", "cat x.json | jq '.a[] | select(.b == 1)'", "curl -s https://example.com | jq -r .x", "awk -F, '{ s += $2 } END { print s }' x.csv", "cut -d: -f1 /etc/passwd | sort -u", "tr -d '\\r' <a >b", "diff -u a b", "tar -czf a.tgz src", "tar -xf a.tar -C /tmp", "xargs -n1 echo <f", "tee log.txt", "split -l 100 x", "mkdir -p a/b && touch a/b/c", "cp -r a b", "mv a b", "chmod +x s.sh && ./s.sh", "make -j8 test", "make PREFIX=/usr install", "MAKEFLAGS=-j8 make", "CC=gcc make", "cmake -B build -DCMAKE_BUILD_TYPE=Debug", "docker build -t x .", "docker ps", "kubectl get pods",
		"for i in 1 2 3; do echo $((i * 2)); done", "for i in {1..100}; do (( i % 2 )) && echo $i; done", "for i in $(seq 1 5); do curl -s x; sleep 1; done", "i=0; while [ $i -lt 5 ]; do i=$((i+1)); done", "for ((i = 0; i < 10; i++)); do echo $i; done", "i=0; ((i++)); let i+=2; echo $i", "n=$(wc -l < x); if (( n > 5 )); then echo many; fi", "n=$(grep -c x f); [[ $n -gt 3 ]] && echo y", "start=$(date +%s); make; echo $(( $(date +%s) - start ))", "bash -c 'i=1; for n in 1 2; do ((i += n)); done; echo =$i'", "echo $((RANDOM % 5))", "echo $(( $# ))", "a=(x y z); for i in \"${!a[@]}\"; do echo \"$i ${a[$i]}\"; done", "a=(1 2); echo ${a[@]} ${#a[@]} ${a[0]}", "for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done", "x=abcdef; echo ${x:0:3} ${x: -2} ${x//a/b}", "while IFS= read -r line; do echo \"$line\"; done <f", "IFS=, read -ra parts <<< 'a,b'", "declare -A m; m[a]=1; echo ${m[a]}", "if [ -z \"$X\" ]; then echo y; fi", "[[ $x == a* && -f y ]]", "test $? -eq 0", "ls >f 2>&1", "echo x >&2", "exec 3>&1 4<&0", "echo {a,b}[0]", "echo x >&$fd", "printf '%s\\n' a b", "f() { local x=$1; echo $x; }; f y", "export A=1 B=$X", "unset A B", "read -r x; echo $x", "set -euo pipefail; ls", "trap 'echo bye' EXIT", "PS4='+ ' bash -x s.sh", "bash s.sh", "sh ./s.sh -x", "HOME=/tmp go build ./...", "timeout 60 npm test || true", "nohup ./server >log 2>&1 &", "cat > x.py <<'E'\nimport os\nprint(os.getenv('A')[0], `x`, $(y))\nE", "cat <<E >x\nhello $USER\nE", "echo \"$(date): ok\" >>log", "ps aux | grep node | grep -v grep", "kill %1", "wait", "cd sub && ls", "which go; command -v node", "env | sort", "du -sh * | sort -h", "head -c 100 /dev/urandom | base64", "apt-get install -y jq", "sudo apt-get update",
	)
}
