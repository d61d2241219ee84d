package permission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/shell"
)

func TestCommandsThatAreNotReadOnlyAsk(t *testing.T) {
	for _, c := range []string{
		// Options that write or run something.
		"find . -exec rm {} +", "find . -name x -delete", "find . -fprintf out %p", "find . -ok rm {} ';'",
		"sed -i s/a/b/ f", "sed 's/a/b/w out' f", "sed -n 'w out' f", "sed 'e id' f", "sed 's/a/id/e' f", "sed -f script f", "sed -n '1r /etc/passwd' f",
		"sed --in-place s/a/b/ f", "sed --expression='1e id' f", "sed -n '/a/w out' f", "sed -ni p f", "sed -n p -i f", "sed 's/a/b/;w out' f",
		"rg --pre cat x", "rg --pre=cat x", "rg -z x", "rg -nz x", "rg --search-zip x", "rg --hostname-bin=x y",
		"sort -o out in", "sort --output=out in", "sort --outp out in", "sort -uo out in", "sort --compress-program=sh in", "sort --compress=sh in",
		"git -c core.pager=sh log", "git log --output=out", "git diff --outpu=out", "git diff --ext-diff", "git diff --ext", "git show --textconv", "git grep -O x", "git grep --open=sh x",
		"git --exec-path=/tmp status", "git -p log", "git branch new", "git tag v1", "git remote add a b", "git config user.name x", "git config --get --file /etc/x y",
		"git stash", "git reflog expire", "git --git-dir=/tmp/x log", "git diff --no-index /etc/passwd a", "git push", "git log --show-signature",
		"tree -o out", "date -s 1", "file -C x", "uniq in out", "hostname evil", "diff -l a b", "awk 'BEGIN{system(\"id\")}'", "printf -v 'a[$(id)]' x", "test -v 'a[$(id)]'",
		// Egress.
		"ping x", "dig x", "nslookup x", "host x", "curl x", "getent hosts x", "cat < /dev/tcp/1.2.3.4/80",
		// Redirections write.
		"echo hi > out", "echo hi >> out", "echo hi >| out", "echo hi &> out", "echo hi >& out", "cat a 1<> b", "> out", "{ echo hi; } > out", "ls 2> err",
		// Expansions.
		"cat$IFS/etc/passwd", "echo \"${x@P}\"", "echo ${!x}", "echo ${a[$(id)]}", "[[ a -eq b ]]", "((x=1))", "let x=1",
		"cat {/etc/passwd,a}", "ls @(a|b)",
		// Substitution of other commands.
		"echo $(id -u; rm x)", "echo `rm x`", "cat <(rm x)", "ls $(rm x)", "cat <<EOF\n$(rm x)\nEOF", "cat <<< $(rm x)", "x=$(rm x)",
		// Names and assignments.
		"PATH=. ls", "LD_PRELOAD=./x ls", "GIT_EXTERNAL_DIFF=x git diff", "GIT_PAGER=sh git log", "PATH=.", "IFS=x", "https_proxy=x ls", "env PATH=. ls", "env -S 'rm x'", "./ls", "/bin/ls", "$X ls", "l*s",
		"ls() { rm x; }; ls", "alias ls=rm; ls", "export PATH=.", "source x", ". x", "eval ls", "exec ls", "bash -c ls", "ls | xargs rm", "sudo ls",
		// Paths outside.
		"cat /etc/passwd", "cat ../x", "cat ~/.ssh/id_rsa", "cat ~root/x", "ls /", "ls /srv/proj-evil", "cat a/../../x", "cd .. && ls", "cd /etc && cat passwd", "cd sub && cat ../../x",
		"cd - && ls", "cd $X && ls", "cd; ls", "grep -r x ..", "grep -f/etc/passwd x", "grep -f /etc/passwd x", "cat < /etc/passwd", "head --lines=1 /etc/passwd", "git -C /tmp status", "diff --from-file=/etc/passwd a", "cat ../*",
		"pushd /etc; ls", "wc --files0-from=/etc/passwd", "for d in a b; do cd ..; cat x; done",
		"jq -f /etc/passwd a", "jq -n --rawfile a /etc/passwd '$a'", "cd sub; cat ../../etc/x", "(cd /tmp; ls)", "cat a\\\n/../../x",
	} {
		check(t, policy(Default), bash(c), Ask)
		check(t, policy(DontAsk), bash(c), Deny)
	}
}

// TestUnconfinedGuessesAsk: what only probably reads runs unasked where something holds it to
// reading, and alone: not beside a part that a rule or a mode allows to do more.
func TestUnconfinedGuessesAsk(t *testing.T) {
	for _, c := range []string{
		`find . -e\xec ls`, "find . $X", "find . -name *.go", "find . -exec ls {} +", "find . -exec grep -l x {} ';'", "awk 1 f", "awk -F/ '/x/ {print $1}' f", "echo $SECRET", "echo ${X}", "cat $F", "ls ${IFS}", "echo $((a))", "echo $((1024 * 1024))", "echo {a,b}",
		"find *", "sort *", "rg [-]*", "env", "printenv", "env | sort", "xargs cat", "ls | xargs -n 1 head -n 2", "ls | xargs", "for f in *.go; do wc -l \"$f\"; done", "N=$(ls | wc -l); echo $N", "while read -r l; do echo \"$l\"; done < a", "diff <(sort a) <(sort b)", "test -z \"$(gofmt -l .)\"",
		"python3 -c 'print(1)'", "python3 - <<'A'\nprint(1)\nA", "python3 -m json.tool a", "node -e 'console.log(1)'", "node -p 1", "ruby -e 'puts 1'", "perl -ne 'print if /a/' f", "php -r 'echo 1;'", "jq . $F", "sed 's/.*\\.//' a", "sed -n '/a/,/b/p' a", "sed 's|a|b|g' a",
		"tar tf a.tar", "tar -tzf a.tgz", "unzip -l a.zip", "gzip -dc a.gz", "sqlite3 -readonly a.db .tables", "bash -n a.sh", "make -n all", "make --dry-run", "yq .a b.yml", "xxd a", "shuf a", "ss -tln", "date -d now", "set -e; ls", "shopt -s nullglob; ls *",
		"git branch --contains HEAD", "git branch --sort=-committerdate", "git tag -l 'v*'", "git tag --sort version:refname", "git remote get-url origin", "git stash show -p", "git submodule status", "git check-ignore -v a", "git fsck", "git symbolic-ref HEAD", "git apply --check a.patch", "git format-patch --stdout -1", "git archive HEAD", "git config get user.name", "git notes list",
		"go list ./...", "go env GOPATH", "go mod graph", "go doc net/http", "npm ls", "npm pkg get name", "yarn why a", "pnpm list", "pip show a", "uv pip list", "poetry show", "cargo tree", "bundle list", "composer show", "dpkg -l", "apt list", "rpm -qa", "brew list", "dotnet --list-sdks", "make --version", "mvn -v",
		"gofmt -l .", "gofmt -d a.go", "cargo fmt --check", "rustfmt --check a.rs", "npx tsc --noEmit", "npx eslint .", "prettier --check .", "ruff check .", "ruff format --check", "black --check .", "mypy .", "terraform fmt -check", "clang-format --dry-run a.c", "helm template a",
		"cat $X < a", "sort $X < $Y", "cat /etc/os-release", "cut -d/ -f1 a", "ls {a,b}/", "echo $((x+1)); ls",
	} {
		p := policy(Default)
		if d := Decide(p, bash(c)); d.Behavior != Allow || d.Profile != sandbox.Inspect {
			t.Errorf("%s: %s under %q, want it to run under inspect", c, d.Behavior, d.Profile)
		}
		p.Contained = false
		check(t, p, bash(c), Ask)
		p.Contained, p.Unconfined = true, true
		check(t, p, bash(c), Ask)
		p = policy(AcceptEdits)
		p.Allow = rules(t, "Bash(make)")
		check(t, p, bash(c), Allow)
		check(t, p, bash(c+"\nmake"), Ask)
		check(t, p, bash(c+"\ntouch a"), Ask)
	}
	for _, c := range []string{
		"find . $X -delete", "find . -exec", "find . -exec rm {} ';'", "awk '{print > \"a\"}' f", "awk 'BEGIN{system(\"x\")}'", "awk 'BEGIN{\"x\" | getline}'", "awk -f x a", "xargs rm", "xargs -a /etc/x cat", "xargs --arg-file=x cat", "for f in *; do rm $f; done", "PATH=$X; ls", "GIT_DIR=$X; git log", "ls $(rm $X)", "echo $X > a", "cat {/etc/passwd,a}", "cat ~root/x", "cd $X && ls",
		"python3 -c 'open(\"a\", \"w\")'", "python3 -c 'import os; os.system(\"x\")'", "python3 -c 'import subprocess'", "python3 a.py", "python3", "python3 -m http.server", "python3 -m json.tool a b", "python3 -m pip install a", "node a.js", "node -e 'require(\"fs\").writeFileSync(\"a\", \"\")'", "ruby a.rb", "perl -pi -e 's/a/b/' f", "perl a.pl", "php a.php", "ruby -e 'exec \"x\"'",
		"sed 's/a/b/;w x' f", "sed -n 'w x' f", "sed 's|a|b|w x' f", "sed -i 's|a|b|' f", "sed 1e f", "sed", "sed -n", "tar xf a", "tar -tf a -I ./x", "tar tf a --to-command=x", "tar", "unzip a.zip", "gzip a", "sqlite3 a.db", "bash a.sh", "make", "make -j4", "yq -i .a b", "xxd a b", "xxd -r a", "shuf -o a b", "ss -K", "date -s 1", "date --set=1", "set", "set -- a", "env -C x ls",
		"git branch x", "git branch --sort=x y -d", "git branch -d x --list", "git tag x", "git tag -d x", "git remote show origin", "git stash drop", "git submodule update", "git fsck --lost-found", "git symbolic-ref HEAD x", "git symbolic-ref -d x", "git apply a", "git apply --check --index a", "git format-patch -1", "git archive -o a HEAD", "git config set a b", "git notes add", "git -C", "git",
		"go test ./...", "go vet ./...", "go build ./...", "go env -w A=b", "go mod tidy", "npm i", "npm pkg set a=b", "npm test", "yarn", "pip install a", "uv pip install a", "poetry add a", "cargo build", "cargo fmt", "bundle install", "apt install a", "dpkg -i a", "rpm -i a", "gofmt -w .", "gofmt a.go", "gofmt -l -w .", "rustfmt a.rs", "tsc", "npx", "npx a", "eslint --fix .", "prettier .", "ruff check --fix", "ruff format", "ruff", "terraform fmt", "terraform apply", "clang-format -i a.c", "helm install a",
		"$X", "./x --version", "swarm", "x", "x -v y", "cat /etc/shadow", "cat $X /etc/passwd", "cat a $X < /etc/passwd", "f() { ls; }; f $X", "eval $X", "((x=1)); ls", "ls @(a|b) $X", "a=(1); echo $a",
	} {
		check(t, policy(Default), bash(c), Ask)
	}
}

func TestUnparsableCommandsAsk(t *testing.T) {
	for _, c := range []string{
		"echo 'x", "$((echo hi) | cat)", "if", "a\x00b", "ls\rrm x", "echo \x1b[2J", "cat\u00a0a", strings.Repeat("(", 200) + "ls" + strings.Repeat(")", 200),
		strings.Repeat("$(", 20000), "echo " + strings.Repeat("x", shell.MaxParsed), strings.Repeat("{ ", 30000), strings.Repeat("`", 999),
	} {
		p := policy(Default)
		p.Allow = rules(t, "Bash", "Bash(echo:*)")
		check(t, p, bash(c), Ask)
		p.Mode = Bypass
		check(t, p, bash(c), Ask)
	}
	p := policy(Default)
	p.Allow = rules(t, "Bash(echo:*)", "Bash")
	check(t, p, bash("echo "+strings.Repeat("x", shell.MaxCommand)), Ask)
	check(t, p, bash("echo "+strings.Repeat("x", shell.MaxCommand-5)), Allow)
	p.Mode = Bypass
	check(t, p, bash("echo "+strings.Repeat("x", shell.MaxCommand)), Allow)
	check(t, policy(Default), bash(""), Ask)
}

func TestDenyMatchesAtEveryDepth(t *testing.T) {
	p := policy(Bypass)
	p.Deny = rules(t, "Bash(curl:*)", "Bash(git push*)", "Read(.env)", "Edit(//etc/**)")
	many := strings.Repeat("ls;", 1500)
	for _, c := range []string{
		"curl x", "ls; curl x", "ls && curl x", "ls | curl x", "ls & curl x", "ls\ncurl x", "(curl x)", "{ curl x; }", "echo $(curl x)", "echo `curl x`", "cat <(curl x)", "echo \"$(curl x)\"",
		"if true; then curl x; fi", "while curl x; do ls; done", "for a in $(curl x); do ls; done", "case a in a) curl x;; esac", "case $(curl x) in a) ls;; esac", "f() { curl x; }", "[[ -n $(curl x) ]]",
		"cat <<EOF\n$(curl x)\nEOF", "cat <<< `curl x`", "x=$(curl x)", "x=$(curl x) ls", "a[$(curl x)]=1", "echo ${x:-$(curl x)}", "echo $((1+$(curl x)))", "export X=$(curl x)", "ls > $(curl x)", "coproc curl x", "time curl x",
		"! curl x", "FOO=1 curl x", "PATH=x curl x", "\\curl x", "c'u'rl x", `"curl" x`, `cu""rl x`, `$'\x63url' x`, `$'\143url' x`, "/usr/bin/curl x", "./curl x", "curl\tx", "cu\\\nrl x", "curl", "curl>out", ">out curl x",
		"timeout 5 curl x", "timeout -k 5 5 curl x", "timeout --signal=KILL 5 curl x", "time -p curl x", "nice -n 5 curl x", "nohup curl x", "stdbuf -oL curl x", "command curl x", "builtin curl x", "env curl x", "env A=b curl x", "env -i curl x", "env -u A curl x",
		"env -S 'curl x'", "xargs curl", "ls | xargs -n 1 curl", "sudo curl x", "sudo -u root curl x", "doas curl x", "exec curl x", "setsid curl x", "ionice -c 2 curl x", "watch -n 1 curl x", "watch 'curl x'", "flock f curl x", "busybox curl x",
		"nohup nice timeout 5 curl x", "bash -c 'curl x'", "bash -lc 'ls; curl x'", "bash -c -- 'curl x'", "sh -c \"curl x\"", "/bin/sh -c 'curl x'", "sudo bash -c 'curl x'", "eval curl x", "eval 'curl x'", "eval \"curl\" x", "trap 'curl x' EXIT", "find . -exec curl {} \\;", "find . -execdir sh -c 'curl x' \\;",
		"git push", "git push --force", "ls;git push", many + "curl x", "flock f -c 'curl x'", "su -c 'curl x'", "bash <<< x; curl x",
		"cat .env", "cat ./.env", "cat sub/.env", "cd sub && cat .env", "head -n1 /srv/proj/.env", "cat < .env", "grep x .env", "cp .env out", "cat --x=.env", "python .env",
		"echo x > /etc/cron", "echo x >> /etc/a/b", "tee /etc/x", "cp a /etc/x", "sed -i s/a/b/ /etc/x", "cd /etc && touch x", "mv a /etc/",
		"c''url$x", "$x curl y", "cu${x}rl y", "cu$(true)rl y", "git $x push",
		// What does not parse, or not safely, is searched for the words.
		"(\x00curl rl x)", "cu\x00rl x", "ls; \x1bcurl x", "ls\u00a0; curl x", "curl\r\bu",
		"curl x; echo 'unclosed", "echo 'unclosed; curl x", "$((echo hi) | curl x)", "ls " + strings.Repeat("y", shell.MaxParsed) + "; curl x",
	} {
		check(t, p, bash(c), Deny)
	}
	for _, c := range []string{"echo curl", "ls curl", "curly x", "git pull", "cat env", "grep curl a", "echo 'curl x'", "git log --grep push", "tee etc/x"} {
		check(t, p, bash(c), Allow)
	}
}

func TestAllowRulesNeedEveryPart(t *testing.T) {
	p := policy(Default)
	p.Allow = rules(t, "Bash(npm run test:*)", "Bash(git commit *)", "Bash(make)", "Bash(go *)", "Bash(find:*)", "Bash(watch:*)", "Bash(* --version)")
	for _, c := range []string{
		"npm run test", "npm run test unit", "npm run test && git commit -m 'a b'", "make", "make | head -5", "cd sub && make", "timeout 60 make", "nohup npm run test &", "CI=1 npm run test", "env CI=1 make",
		"go test ./... 2>&1 | tail", "go test ./... > /dev/null", "find . -type f", "for p in a b; do go build x; done", "if make; then go vet; fi", "foo --version", "(make)", "git commit -m \"$(cat <<'EOF'\nhi\nEOF\n)\"",
	} {
		check(t, p, bash(c), Allow)
	}
	for _, c := range []string{
		"npm run tests", "npm run testing", "npm run", "npm install", "npm run test; rm x", "npm run test && rm x", "npm run test | sh", "npm run test & rm x", "npm run test\nrm x", "npm run test $(rm x)", "npm run test `rm x`",
		"npm run test > out", "npm run test <(rm x)", "make all", "make; make all", "PATH=. make", "LD_PRELOAD=x make", "env PATH=. make", "sudo make", "bash -c make", "eval make", "$X make", "make() { rm x; }; make",
		"find . -delete", "find . -exec touch {} +", "find . -exec sh -c ls {} +", "watch ls", "go test > out", "git commit -m x > ../y", "git -c a=b commit -m x", "go test < /etc/passwd", "rm x --version; rm y", "git commit -m \"${x@P}\"", "git commit -m ${!x}", "git commit -m $((x))", "[[ 'a[$(id)]' -eq 0 ]] && make", "f() { make; }; make", "make $(f() { make; })",
		"cd a/b && for i in 1 2 3; do cd ..; cat x; done", "npm run test {a,b}; x=$((y))",
	} {
		check(t, p, bash(c), Ask)
	}
}

func TestBashRuleWithoutSpecifierAllowsParsedCommands(t *testing.T) {
	for _, rule := range []string{"Bash", "Bash(*)"} {
		p := policy(Default)
		p.Allow = rules(t, rule)
		for _, c := range []string{"rm x", "f() { ls; }; f", "echo $((a+1))", "make > out", "curl x | sh"} {
			check(t, p, bash(c), Allow)
		}
		for _, c := range []string{"rm -rf /", "echo x > /etc/passwd", "echo x > .git/config", "echo 'x", "make > $X"} {
			check(t, p, bash(c), Ask)
		}
	}
}

func TestCriticalRemovalsAreNeverAutoApproved(t *testing.T) {
	for _, c := range []string{
		"rm -rf /", "rm -rf /*", "rm -rf /etc", "rm -rf /usr/", "rm -rf ~", "rm -rf ~/", "rm -rf ~/*", "rm -rf $HOME", "rm -rf \"$HOME\"/*", "rm -rf .", "rm -rf ./", "rm -rf ..", "rm -rf *", "rm -rf ./*", "rm -rf .*",
		"rm -rf /srv/proj", "rm -rf /srv/proj/", "rm -rf /srv", "rm -rf /srv/proj/*", "rm -rf /srv/*", "rm -rf /home/ann", "rm -rf /home", "rm -rf \"$D\"/*", "rm -rf $D/x", "rm -rf \"$D\"/", "rm -rf ${D}*", "rm -rf ${D:-}/x",
		"cd / && rm -rf *", "cd ..; rm -rf *", "cd $X; rm -rf *", "cd \"$X\" && rm -rf .", "rmdir /etc", "ls; rm -rf /", "echo $(rm -rf /)", "echo `rm -rf /`", "cat <(rm -rf /)", "sudo rm -rf /", "env rm -rf /", "nohup rm -rf / &", "bash -c 'rm -rf /'",
		"eval 'rm -rf /'", "\\rm -rf /", "/bin/rm -rf /", "r''m -rf /", "find / -delete", "find . -delete", "find ~ -name x -exec rm -rf / \\;", "rm -rf a /", "rm -rf -- /", "rm -rf --no-preserve-root /", "rm -rf {/etc,/usr}", "rm -rf a{,/../..}", "rm -rf /srv/proj/sub/..",
		"true && (cd / ; rm -rf *)", "if true; then rm -rf /; fi", "for d in a b; do cd ..; rm -rf *; done", "f() { rm -rf /; }; f", "rm -rf //", "rm -rf /./", "rm -rf /etc/*", "rm -rf /srv/proj/[a-z]*/../..", "rm -rf '/'", "rm -rf \"/\"", "trap 'rm -rf /' EXIT", "timeout 5 rm -rf /", "xargs rm -rf /", "r${x}m -rf /", "su$(true)do rm -rf /", "sudo r$x\"\"m -rf /",
	} {
		for _, m := range []Mode{Default, AcceptEdits, Plan, Bypass} {
			p := policy(m)
			p.Allow = rules(t, "Bash", "Bash(rm:*)")
			check(t, p, bash(c), Ask)
		}
		check(t, policy(DontAsk), bash(c), Deny)
	}
	for _, c := range []string{"rm x", "rm -rf sub", "rm -rf sub/*", "rm -rf ./build", "rm *.o", "rm -rf /srv/proj/out", "rm -rf \"$D\"", "rm -rf ${D:?}/x", "rm -rf \"${D:?unset}\"/*", "rm -f /tmp/a/b", "cd sub && rm -rf *", "echo rm -rf /", "find sub -delete", "echo '$(rm -rf /)'"} {
		check(t, policy(Bypass), bash(c), Allow)
	}
}

func TestDeeplyNestedCommandsAsk(t *testing.T) {
	p := policy(Bypass)
	p.Deny = rules(t, "Bash(curl:*)")
	check(t, p, bash(strings.Repeat("sudo ", 50)+"rm -rf /"), Ask)
	check(t, p, bash(strings.Repeat("sudo ", 50)+"curl x"), Deny)
	check(t, p, bash(strings.Repeat("sudo ", 5)+"curl x"), Deny)
	check(t, p, bash(strings.Repeat("sudo ", 5)+"ls"), Allow)
}

func TestAcceptEditsRunsCommandsInWorkingDirectories(t *testing.T) {
	p := policy(AcceptEdits)
	for _, c := range []string{"mkdir -p a/b", "touch x", "rm x", "rm -rf sub", "mv a b", "cp -r a b", "sed -i s/a/b/ f", "sed -i 's/a/b/g' f g", "mkdir a && cd a && touch b", "echo hi > out", "cat a >> b", "rmdir a", "timeout 5 touch x", "LANG=C cp a b", "git diff > out.patch"} {
		check(t, p, bash(c), Allow)
		check(t, policy(Default), bash(c), Ask)
		check(t, policy(Plan), bash(c), Ask)
	}
	for _, c := range []string{
		"mkdir /tmp/x", "touch ../x", "rm ~/x", "cp a /etc/x", "cp /etc/passwd x", "mv a ..", "cp -t /etc a", "cp -t/etc a", "cp --target-directory=/etc a", "sed -i 's/a/b/e' f", "sed -i '1w x' f", "sed -i s/a/b/ ../f", "echo hi > ../x", "echo hi > $X",
		"touch $X", "touch .git/config", "echo x > .git/hooks/pre-commit", "cp a .claude/settings.json", "cd .claude && echo x > settings.json", "cd .git/hooks && touch x", "touch .bashrc", "mkdir .vscode", "make", "npm i", "echo a | sh", "rm x > /tmp/y", "sed -f s f", "mv .git g", "rm -rf .GIT", "ln -s /etc x", "tee x", "PATH=. touch x", "cd sub || cd /tmp; touch x",
		"touch {a,../b}", "rm sub/*",
	} {
		check(t, p, bash(c), Ask)
	}
}

func TestWorkingDirectoryIsFollowed(t *testing.T) {
	p := policy(Default)
	for c, want := range map[string]Behavior{
		"cd sub && cat ../x":               Allow,
		"cd sub; cat ../x":                 Ask, // if cd failed, ../x is outside
		"cd sub && cd .. && ls":            Allow,
		"cd sub && cd ../.. && ls":         Ask,
		"(cd sub && ls) && cat x":          Allow,
		"cd sub | cat ../x":                Ask,
		"cd /srv/proj/a && cat ../b":       Allow,
		"cd a && cd b && cat ../../c":      Allow,
		"cd a && cd b && cat ../../../c":   Ask,
		"if cd a; then cat ../x; fi":       Ask,
		"while cd ..; do cat x; done":      Ask,
		"CDPATH=/ cd etc && cat passwd":    Ask,
		"cd a & cat ../x":                  Ask,
		"cd -- sub && cat ../x":            Allow,
		"cd sub 2>/dev/null && cat ../x":   Allow,
		"cd sub && cat ../x && cat ../y":   Allow,
		"cd sub && ! cat ../x || cat ../y": Ask,
	} {
		check(t, p, bash(c), want)
	}
}

func TestGlobIsLinear(t *testing.T) {
	if glob(strings.Repeat("*a", 50)+"b", strings.Repeat("a", 5000)) {
		t.Error("matched a text without b")
	}
	for _, x := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"a*", "a", true}, {"a*c", "abc", true}, {"a*c", "abd", false}, {"*b*", "abc", true}, {"", "", true}, {"", "a", false}, {"a**", "a", true},
	} {
		if got := glob(x.pattern, x.text); got != x.want {
			t.Errorf("glob(%q, %q) = %v", x.pattern, x.text, got)
		}
	}
}

func BenchmarkDecideHostile(b *testing.B) {
	for name, c := range map[string]string{
		"substitutions": strings.Repeat("$(", 32000), "blocks": strings.Repeat("{ ", 32000), "parts": strings.Repeat("ls;", 21000), "backticks": strings.Repeat("`", 60000), "words": strings.Repeat("a ", 32000),
		"not": strings.Repeat("! ", 32000), "quotes": strings.Repeat("\"$(echo ", 8000), "if": strings.Repeat("if ", 20000), "heredocs": strings.Repeat("cat <<A;", 8000), "evals": strings.Repeat("eval ", 13000) + "ls",
		"sudo": strings.Repeat("sudo ", 13000) + "ls", "find": "find . " + strings.Repeat("-exec find . ", 5000), "times": strings.Repeat("time ", 13000) + "ls",
	} {
		b.Run(fmt.Sprintf("%s-%dKB", name, len(c)>>10), func(b *testing.B) {
			p := policy(Default)
			p.Deny = rules(b, "Bash(curl:*)", "Read(.env)")
			for b.Loop() {
				Decide(p, bash(c))
			}
		})
	}
}
