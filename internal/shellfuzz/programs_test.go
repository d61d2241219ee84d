package shellfuzz

import (
	"fmt"
	"strings"
)

// program returns a simple command of a program that mostly reads.
func (g *generator) program() string {
	switch g.rand.IntN(14) {
	case 0, 1:
		return g.git()
	case 2:
		return g.find()
	case 3:
		return g.sed()
	case 4:
		return g.tar()
	case 5:
		return g.interpreter()
	case 6:
		return g.runner()
	case 7:
		if g.wild(60) {
			return g.writer()
		}
	}
	return g.reader()
}

// reader returns a command that reads, with options that may make it do more.
func (g *generator) reader() string {
	option := ""
	if g.wild(20) {
		option = g.hostileOption() + " "
	}
	name := g.pick("cat", "head -n 3", "tail -n 2", "wc -l", "ls -la", "ls", "grep -rn a", "grep -c a", "egrep 'a|b'", "rg a", "rg --files", "sort", "sort -u", "uniq -c", "diff a.txt", "stat", "file", "jq .", "jq -r '.a'", "tr a b", "cut -d: -f1", "echo", "printf '%s\\n'",
		"test -f", "[ -e", "[[ -e", "date", "env", "printenv", "type", "which", "command -v", "basename", "dirname", "realpath", "readlink -f", "du -sh", "df", "tree", "od -c", "strings", "nl", "tac", "rev", "paste", "comm a.txt", "cmp a.txt", "md5sum", "sha256sum", "id", "ps aux", "uname -a", "hostname", "seq 3", "column -t", "fold",
		"base64", "xxd", "less", "more", "split", "csplit", "fmt", "pr", "join a.txt", "shuf", "tsort", "zcat", "gzip -c", "gunzip -c", "bc", "expr 1 +", "true", "pwd", "cd", "pushd", "dirs", "declare -p", "set", "export -p", "compgen -f", "mapfile -t a <", "read -r x <", "let", "getconf -a", "locale", "nproc", "lsof", "ss -tln", "curl -s", "getent hosts", "ping -c 1", "sleep 0", "yes | head -n", "look a", "logger", "wall", "crontab -l", "at -l", "mount", "umask")
	out := name + " " + option + g.words(2)
	switch {
	case strings.HasPrefix(name, "[["):
		return out + " ]]"
	case strings.HasPrefix(name, "["):
		return out + " ]"
	}
	return out
}

func (g *generator) git() string {
	before := ""
	if g.wild(20) {
		before = g.pick("-C §w", "-c core.fsmonitor=./evil", "-c core.pager=./evil", "-p", "--no-pager", "--git-dir=§w", "-c diff.external=./evil", "--exec-path=.", "-c core.hooksPath=.", "--work-tree=§w", "-c core.sshCommand=./evil") + " "
	}
	option := ""
	if g.wild(25) {
		option = g.hostileOption() + " "
	}
	sub := g.pick("status --short", "status", "log --oneline -n 3", "log -p -n 1", "diff", "diff --stat", "diff HEAD", "show HEAD", "show HEAD:a.txt", "branch -a", "branch", "tag -l", "remote -v", "blame a.txt", "grep -n a", "ls-files", "ls-tree HEAD", "rev-parse HEAD", "cat-file -p HEAD", "config --get user.name", "config -l", "stash list", "reflog", "describe --always", "shortlog -s", "rev-list --count HEAD",
		"for-each-ref", "worktree list", "count-objects -v", "merge-base HEAD HEAD", "check-ignore -v", "name-rev HEAD", "log --format=%H", "submodule status", "help -a", "var -l", "fsck", "archive HEAD", "bundle create -", "format-patch --stdout -1", "notes list", "check-attr -a", "diff --name-only", "stash show")
	if g.wild(20) {
		sub = g.pick("commit -am x", "checkout -b new", "checkout .", "config user.name x", "config --global user.name x", "init §w", "clone . §w", "push", "fetch §w", "add -A", "reset --hard", "stash", "clean -fd", "gc", "worktree add §w", "apply §w", "am", "bisect run ./evil", "rebase -x ./evil HEAD", "filter-branch", "submodule add §w", "update-index --refresh", "difftool -x ./evil", "mergetool", "x", "ls-remote §w", "ls-remote 'ext::./evil'", "remote add x y", "tag v1", "mv a.txt b", "rm a.txt", "hook run pre-commit", "credential fill", "archive --remote=§w")
	}
	return "git " + before + sub + " " + option + g.pick("", "", "§w", "-- §w")
}

func (g *generator) find() string {
	out := "find " + g.pick(".", "src", "sub", "§w") + " " + g.pick("", "-name '*.txt'", "-type f", "-maxdepth 2", "-newer a.txt", "! -name a", `\( -name a -o -name b \)`, "-size +1k", "-path ./src", "-mtime -1", "-empty", "-printf '%p\\n'", "-ls", "-print0")
	if g.wild(20) {
		return out + " " + g.hostileOption()
	}
	if g.chance(15) {
		end := g.pick(`{} \;`, "{} +", "{} ';'")
		return out + " " + g.pick("-exec", "-execdir") + " " + g.pick("cat", "grep -l a", "wc -l", "head -n 1", "sh -c 'cat \"$0\"'", "rm -f", "cp -t §w", "sed -n 1p", "./evil", "git log -n 1 --", "tee") + " " + end
	}
	return out
}

func (g *generator) sed() string {
	script := g.pick("1p", "1,3p", "s/a/b/", "s/a/b/g", "/a/p", "/a/d", "$p", "5q", "=", "1,5p;7p", "s|a|b|", "/a/,/b/p", "1!d")
	if g.wild(30) {
		script = g.pick("w §t", "s/a/b/w §t", "1e ./evil", "s/a/.\\/evil/e", "r §t", "1R §t", "e", "W §t", "a\\\ntext", "1{p;w §t\n}", "s/a/b/;w §t", "y/a/b/", "1,3{=;p}")
	}
	return "sed " + g.pick("", "-n ", "-E ", "-ne ", "-i ", "-n -e ", "--quiet ", "-s ", "-z ", "--sandbox -n ", "-f §w ") + g.quoted(script) + " " + g.words(2)
}

func (g *generator) tar() string {
	if !g.wild(50) {
		return "tar " + g.pick("-tf a.tar", "tf a.tar", "-tvf a.tar", "--list -f a.tar", "-tf -", "tzf a.tar", "-xOf a.tar", "-tf a.tar | head -n 3", "--help", "--version", "-t -f a.tar a.txt")
	}
	return "tar " + g.pick("-xf a.tar", "-cf §w .", "-xf a.tar -C §w", "-tf a.tar §o", "-cf - . | tar -xf - -C §w", "-rf a.tar §w", "-xPf a.tar", "-cf /dev/null §w", "-f §w -t", "-tf host:x", "-tf a.tar -I ./evil", "-tf a.tar --to-command=./evil")
}

// interpreter returns a command with a program of its own in an argument.
func (g *generator) interpreter() string {
	t, n := g.target(), g.names
	mild := g.pick(
		`python3 -c 'import json; print(json.load(open("data.json")))'`, `python3 -c "print(1+1)"`, `awk '{print $1}' a.txt`, `awk -F: '{n++} END {print n}' a.txt`, `awk 'NR==2' a.txt`, `perl -ne 'print if /a/' a.txt`, `node -e 'console.log(1)'`, `jq '.a | length' data.json`, `python3 -m json.tool data.json`, `node -p 'require("./package.json").name'`, `perl -pe 's/a/b/' a.txt`)
	if !g.wild(50) {
		return mild
	}
	return g.pick(
		`python3 -c 'open("`+t+`","w").write("x")'`, `python3 -c 'print(open("`+t+`").read())'`, fmt.Sprintf(`python3 -c 'import socket; socket.create_connection(("127.0.0.1",%d))'`, n.port), `python3 -c 'import os; os.system("./evil")'`, `python3 -c 'import os; print(os.environ)'`,
		`awk 'BEGIN{system("./evil")}'`, `awk '{print > "`+t+`"}' a.txt`, `awk 'BEGIN{while((getline l < "`+t+`")>0) print l}'`, `awk 'BEGIN{"./evil" | getline}'`, fmt.Sprintf(`awk 'BEGIN{print "x" |& "/inet/tcp/0/127.0.0.1/%d"}'`, n.port), `awk -f §w`, `awk -i inplace '{print}' a.txt`,
		`perl -e 'system("./evil")'`, `perl -pi -e 's/a/b/' §w`, `perl -e 'open F, ">`+t+`"'`, `python3 script.py`, `python3 -c "import os; os.chmod(\"§t\", 0o777)"`, `python3 -c 'import ctypes; ctypes.CDLL(None).chmod(b"§t", 511)'`, `python3 -c 'import glob; [print(open(f).read()) for f in glob.glob("/proc/[0-9]*/environ")]'`, `python3 -c 'import os; [print(open(os.path.join(d, f)).read()) for d, _, n in os.walk("..") for f in n]'`, `node -e 'console.log(require("fs").readFileSync("§t","utf8"))'`, fmt.Sprintf(`node -e 'require("net").connect(%d)'`, n.port), `python3 -m http.server --help`, `python3 §w`, `jq -n 'env'`, `jq -n --rawfile a `+g.quoted(t)+` '$a'`, `jq -L . 'import "x" as $x; $x'`, `bash script.sh`, `sh §w`, `./evil`, `python3 -c 'import ctypes; ctypes.CDLL(None).system(b"./evil")'`,
		`python3 -c 'import os; os.symlink("`+t+`","new")'`, `python3 -c 'import os; os.link("`+t+`","new2"); print(open("new2").read())'`, `python3 -c 'exec(open("evil.py").read())'`)
}

// runner returns a command that runs others.
func (g *generator) runner() string {
	inner := g.pick("cat", "wc -l", "grep -n a", "head -n 1", "ls", "echo", "sed -n 1p", "git log -n 1 --", "sort", "jq .", "stat")
	if g.wild(25) {
		inner = g.pick("rm -f", "sh -c './evil'", "tee", "./evil", "touch", "cp a.txt", "sed -i s/a/b/", "sort -o a.txt", "git commit -m", "find . -delete")
	}
	from := g.pick("ls", "git ls-files", "find . -type f", "cat list", "echo a.txt", "printf '%s\\0' a.txt b.txt", "rg --files", "echo §q")
	return from + " | xargs " + g.pick("", "-n 1", "-0", "-I{}", "-r", "-P 2", "-d '\\n'", "-t", "-a §w", "-o") + " " + inner + g.pick("", " {}")
}

// writer returns a command that changes files.
func (g *generator) writer() string {
	w := g.word()
	return g.pick("touch", "mkdir -p", "rm -f", "rm -rf", "rmdir", "cp a.txt", "mv b.txt", "ln -s "+w, "ln "+w, "tee", "truncate -s 0", "install a.txt", "dd if=a.txt of="+w, "chmod 777", "chown 1", "sed -i s/a/b/", "cp -t "+w, "cp -r src", "cp --parents a.txt", "mv -t "+w, "cp -rT src", "ln -sf "+w, "sed -i 1d", "mkdir -m 777", "rsync -a src", "patch", "unzip", "shred", "mkfifo", "mknod x p;", "split a.txt", "cp -l a.txt", "cp -s a.txt", "cp -a up", "mv sub", "touch -r "+w, "mkdir --parents --", "mv .git", "cp --backup --suffix=/../x a.txt", "rm -r") +
		" " + g.words(2)
}

// attack returns a command that touches a canary, if nothing keeps it from that.
func (g *generator) attack() string {
	n := g.names
	tcp := fmt.Sprintf("/dev/tcp/127.0.0.1/%d", n.port)
	return g.pick(
		"echo pwned > "+n.outside+"/file", "touch "+n.outside+"/new", "echo pwned > ../../outside/file", "tee outlink/new < a.txt", "cp a.txt "+n.outside+"/new", "ln -sf x "+n.outside+"/new", "sed -i s/a/b/ "+n.outside+"/file", "echo >> hard",
		"cat ~/.ssh/id", "cat link", "cat up/.ssh/id", "cat "+n.state+"/journal", "grep -r . ~", "head -n 3 ../.netrc", "cat /proc/$PPID/environ", fmt.Sprintf("cat /proc/%d/environ", n.pid), fmt.Sprintf("tr '\\0' '\\n' < /proc/%d/environ", n.pid), fmt.Sprintf("kill %d", n.pid), "cat .env", "cat sub/.env", "find ~ -name id -exec cat {} +", "tar -cO ../.ssh", "dd if="+n.home+"/.aws/credentials", "cat < link", "base64 < "+n.outside+"/file", "cp link copied; cat copied",
		"echo x > "+tcp, "cat < "+tcp, "exec 3<>"+tcp, fmt.Sprintf("curl -s -m 1 http://127.0.0.1:%d/", n.port), fmt.Sprintf("echo x > /dev/udp/127.0.0.1/%d", n.port),
		fmt.Sprintf("python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"%s\")'", n.socket), "python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"sub/sock\")'", fmt.Sprintf("curl -s -m 1 --unix-socket %s http://x/", n.socket),
		"echo '[core]' >> .git/config", "git config core.pager ./evil", "echo x > .git/hooks/post-checkout", "echo '{}' > .claude/settings.json", "cp a.txt .mcp.json", "mv .claude other", "echo x > .envrc", "rm -rf .git", "ln -sf evil .git/hooks/pre-commit", "mkdir -p .husky", "echo x >> ~/.bashrc", "./evil", "bash evil")
}
