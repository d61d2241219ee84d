package permission

import (
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestBoundsOfEdits: what mode acceptEdits runs ends where an operand, a variable or a
// redirection leaves the working directories.
func TestBoundsOfEdits(t *testing.T) {
	p := policy(AcceptEdits)
	for _, c := range []string{
		"> out", "x=1 > out", "touch a", "cp -t sub a", "cp -tdir a", "cp -t sub -- a", "mkdir -p -- a", "cp --target-directory=sub a", "env x=1 touch a", "touch a < b", "touch a 2> /dev/null", "rm -- -a", "mv -T a b",
		"sed -i s/a/b/ f > out", "sed -i -E s/a/b/ f", "sed --in-place s/a/b/ f", "sed -n -i p f", "cat < a > b", "ls > out 2>&1", "touch /srv/proj/a", "touch /srv/proj", "cd sub && touch ../a",
	} {
		if d := Decide(p, bash(c)); d.Behavior != Allow || d.Rule != onlyEdits || d.Profile != sandbox.Edit {
			t.Errorf("%s: %s by %q under %q", c, d.Behavior, d.Rule, d.Profile)
		}
	}
	for _, c := range []string{
		"touch", "mkdir -p", "rm -f", "cp -t/etc a", "cp -t /etc a", "PATH=. > out", "env PATH=. touch a", "touch a < /etc/hosts", "touch a > /srv/out", "touch a*", "touch $X", "t?uch a", "cat a > b*", "cat < $X > b", "touch a > $X",
		"sed -i s/a/b/ f /etc/x", "sed -i f", "sed -i", "sed s/a/b/ f > /srv/x", "cp a /srv/proj2/b", "cp a /srv", "ln a b", "install a b", "cd /srv && touch a", "cd $X; touch a", "awk 1 a > b", "touch a; awk 1 a",
	} {
		check(t, p, bash(c), Ask)
	}
}

// TestUnheldEditsSaySo: only what the mode would allow if something held it names that.
func TestUnheldEditsSaySo(t *testing.T) {
	for _, x := range []struct {
		mode    Mode
		command string
		named   bool
	}{
		{AcceptEdits, "touch a", true},
		{AcceptEdits, "ls; touch a; make", true},
		{AcceptEdits, "make", false},
		{AcceptEdits, "bash -c 'touch a'", false},
		{AcceptEdits, "touch /etc/a", false},
		{Default, "touch a", false},
	} {
		p := policy(x.mode)
		p.NoEdits = "made up"
		if d := Decide(p, bash(x.command)); d.Behavior != Ask || strings.Contains(d.Reason, "made up") != x.named {
			t.Errorf("mode %s: %s: %s, %s", x.mode, x.command, d.Behavior, d.Reason)
		}
	}
}

// TestBoundsOfReading: what is read by its name is in a working directory, with something
// that holds commands to reading and without.
func TestBoundsOfReading(t *testing.T) {
	for command, want := range map[string]Behavior{
		"cat -": Allow, "cat /dev/null": Allow, "cat < /dev/null": Allow, "cat //srv/proj/a": Allow, "cat //etc/hosts": Ask, "cat /srv/proj/../x": Ask, "cat /srv/proj/sub/../x": Allow, "cat /srv/proj": Allow, "cat /srv/projs": Ask, "cat /srv": Ask,
		"head -n 3 a": Allow, "head --lines=3 a": Allow, "head --lines= a": Allow, "grep -f sub/x a": Allow, "grep -f/etc/x a": Ask, "grep --file=/etc/x a": Ask, "grep /etc/x a": Allow, "grep -e /etc/x a": Ask, "grep -r /x": Allow, "grep x /etc": Ask, "rg /x sub": Allow,
		"jq /x a": Allow, "sed -n /x/p a": Allow, "sed -n /x/p /etc/a": Ask, "echo /etc": Allow, "printf /etc": Allow, "basename /etc/x": Allow, "dirname /etc/x": Allow, "tr / x": Allow, "test -f /etc/x": Allow, "[ -f /etc/x ]": Allow, "which /etc/x": Allow, "seq 1 3": Allow,
		"cd sub": Allow, "cd -P sub": Allow, "cd -- sub": Allow, "cd sub a": Ask, "cd": Ask, "cd /etc": Ask, "cd ..": Ask, "ls -I/etc": Ask, "ls --ignore=/etc": Ask, "ls -la sub": Allow, "diff a b": Allow, "diff a /etc/x": Ask, "sort a < /etc/hosts": Ask, "sort < a": Allow,
		"cd $X; echo a": Ask, "stat /proc/1/environ": Ask, "cat ~/x": Ask, "cat ~": Ask, "cat '~/x'": Allow, "ls": Allow, "LANG=C ls": Allow, "x=1 ls": Allow, "PATH=. ls": Ask, "x=1": Allow, "nohup ls": Allow, "timeout 5 cat /etc/x": Ask, "env ls": Allow, "command -v ls": Allow,
	} {
		p := policy(Default)
		check(t, p, bash(command), want)
		p.Unconfined = true
		check(t, p, bash(command), want)
	}
	for command, want := range map[string]Behavior{
		"cat sub/*.go": Allow, "cat a*": Allow, "ls *": Allow, "cat [ab]": Allow, "cat a?": Allow, "cat /etc/*": Ask, "cat /srv/*/x": Ask, "cat /srv/proj/*": Allow, "cat /srv/proj*": Ask, "cat sub/*/../../../x": Ask, "cat ../*": Ask, "cat --x=/etc/*": Ask, "cat */x": Allow, "cat /*": Ask,
	} {
		p := policy(Default)
		check(t, p, bash(command), want)
		for _, list := range []*[]Rule{&p.Deny, &p.Ask} {
			*list = rules(t, "Read(.env)")
			check(t, p, bash(command), Ask) // a wildcard may match it
			*list = rules(t, "WebFetch", "Edit", "Bash(x)")
			check(t, p, bash(command), want)
			*list = nil
		}
	}
	p := policy(Default)
	p.Allow = rules(t, "Read(//etc/hosts)")
	check(t, p, bash("sort < /etc/hosts"), Allow)
	check(t, p, bash("sort < /etc/passwd"), Ask)
	p.Allow = rules(t, "Edit(//etc/hosts)")
	check(t, p, bash("sort < /etc/hosts"), Allow)
}

// TestBoundsOfPaths: a working directory has all below it and nothing beside it.
func TestBoundsOfPaths(t *testing.T) {
	for _, x := range []struct {
		dirs []string
		path string
		want Behavior
	}{
		{[]string{"/"}, "/etc/x", Allow},
		{[]string{"/srv/proj/"}, "/srv/proj/a", Allow},
		{[]string{"/srv/proj"}, "/srv/proj", Allow},
		{[]string{"/srv/proj"}, "/srv/pro", Ask},
		{[]string{"/srv/proj"}, "/srv/proj.old/a", Ask},
		{[]string{"/srv/proj", "/opt/b"}, "/opt/b/c", Allow},
		{[]string{"srv/proj"}, "srv/proj/a", Ask},
		{nil, "/srv/proj/a", Ask},
	} {
		p := Policy{Dirs: x.dirs, Home: "/home/ann"}
		r := tool("Read", "file_path", x.path)
		r.Cwd = "/"
		check(t, p, r, x.want)
	}
	// Of a path that leads elsewhere both ends count, also if there are several directories.
	p := policy(Default)
	p.Dirs = append(p.Dirs, "/opt/b")
	p.Resolve = func(path string) string { return strings.Replace(path, "/srv/proj/l", "/opt/b", 1) }
	check(t, p, tool("Read", "file_path", "l/a"), Allow)
	p.Resolve = func(path string) string { return strings.Replace(path, "/srv/proj/l", "/opt/c", 1) }
	check(t, p, tool("Read", "file_path", "l/a"), Ask)
}

// TestBoundsOfProtectedPaths: an allow rule for all files does not reach what configures
// tools and shells, wherever it is.
func TestBoundsOfProtectedPaths(t *testing.T) {
	p := policy(Default)
	p.Allow = rules(t, "Edit")
	for _, dir := range strings.Fields(".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .swarm .ssh .config/git .GIT .Config/Git") {
		for _, path := range []string{dir, dir + "/x", "sub/" + dir + "/x/y", "/etc/" + dir + "/x"} {
			check(t, p, tool("Write", "file_path", path), Ask)
		}
		check(t, p, tool("Write", "file_path", dir+"s/x"), Allow)
	}
	for _, file := range strings.Fields(`.gitconfig .gitmodules .gitattributes .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc
		.envrc .inputrc .mcp.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc .netrc .ripgreprc .BashRC`) {
		check(t, p, tool("Write", "file_path", file), Ask)
		check(t, p, tool("Write", "file_path", "sub/"+file), Ask)
		check(t, p, tool("Write", "file_path", file+"/x"), Allow)
		check(t, p, tool("Write", "file_path", file+".x"), Allow)
	}
	for path, want := range map[string]Behavior{
		".claude/worktrees": Ask, ".claude/worktrees/a": Allow, ".claude/worktree/a": Ask, "a/.claude/worktrees/b/c": Allow, ".config": Allow, ".config/x": Allow, "config/git": Allow, "git": Allow,
	} {
		check(t, p, tool("Write", "file_path", path), want)
	}
	p = policy(AcceptEdits)
	p.Allow = rules(t, "Bash")
	check(t, p, bash("ls .git/x"), Allow)
	check(t, p, bash("touch .git/x"), Ask)
	check(t, p, tool("Read", "file_path", ".git/x"), Allow)
}

// TestBoundsOfIsolation: an isolated agent's command is refused as far as it leads out, and
// no further.
func TestBoundsOfIsolation(t *testing.T) {
	refused := func(p Policy, cwd, command string) bool {
		r := bash(command)
		r.Cwd = cwd
		d := Decide(p, r)
		return d.Rule == "worktree isolation"
	}
	for command, want := range map[string]bool{
		"cd $X; ls": false, "cd $X; git status": true, "cd $X; touch y": true, "cd $X; > y": true, "cd $X; make": true, "cd $X; x=1": false, "touch $X/../y": true, "touch $X/y": false, "touch ..$X": true, "cat $X/../y": true,
		"python3 -c 'x(\"/s/trees/a1/x\")'": false, "python3 -c 'x(\"/s/trees/b2/x\")'": true, "python3 -c 'x(\"/s/trees/a1/x /s/trees/b2/x\")'": true, "python3 -c 'x(\"/s/trees/a12\")'": true, "python3 -c 'x(\"/mainly\")'": false, "python3 -c 'x(\"/main\")'": true,
		"python3 -c 'x(\"/MAIN\")'": false, "cat /main/a; cat /main/b": false, "cat /main/a; make": true, "cat /s/trees/a1/a; make": false, "make /s/trees/a1": false, "make /s/trees": true, "echo /main": false, "tee --output=/main/x": true, "tee -o/main/x": true, "x=/main/y": false, "make x=/main/y": true, "make < /main/y": true,
		"rm -rf /s/trees/a1": false, "rm -rf /s/trees/a1/sub": false, "rm -rf /tmp/x": false, "mv /s /t": true, "mv a /tmp": false, "touch /s/trees/a1/.git": true, "touch /s/trees/a1/.gitignore": false, "touch unknown": true, "touch hard": true, "touch hard2": false, "cat hard": false,
		"$X": true, "X=1": false, "": false, "git -C sub status": false, "git -C": false, "git": false, "git status > /main/x": true, "git rev-parse --git-dir": false, "git rev-parse --git-dir; make": true, "git rev-parse HEAD; make": false,
		"git -c user.name=x commit": false, "git -c Alias.x=y x": true, "git -c INCLUDE.path=x status": true, "git -c $X status": true, "git --config-env=a=b status": true, "git --namespace x status": false, "GIT_INDEX_FILE=/main/x git status": true, "GIT_INDEX_FILE=x git status": false, "GIT_AUTHOR_NAME=x git commit": false,
		"export A=1": false, "export GIT_DIR=sub": true, "export GIT_DIR=/main": true, "read GIT_DIR": true, "printf -v GIT_DIR x": true,
	} {
		if got := refused(isolatedPolicy(), "/s/trees/a1", command); got != want {
			t.Errorf("%q is refused: %v, want %v", command, got, want)
		}
	}
	p := isolatedPolicy()
	p.FoldCase = true
	for _, command := range []string{"python3 -c 'x(\"/MAIN\")'", "touch /MAIN/x", "cd /Main && make"} {
		if !refused(p, "/s/trees/a1", command) {
			t.Errorf("%q is not refused where case is folded", command)
		}
	}
	if refused(p, "/s/trees/a1", "python3 -c 'x(\"/S/Trees/A1/x\")'") {
		t.Error("where case is folded the worktree is off limits")
	}
	p.Boundary.HardLinkTarget = nil
	if refused(p, "/s/trees/a1", "touch hard") {
		t.Error("without a check of hard links one is found")
	}
	p.Boundary.Protected = append(p.Boundary.Protected, "/")
	if !refused(p, "/s/trees/a1", "touch /tmp/x") || refused(p, "/s/trees/a1", "touch x") || refused(p, "/s/trees/a1", "make") {
		t.Error("with everything else off limits, the worktree is not what is left")
	}
	for _, cwd := range []string{"", "s/trees/a1", "/main", "/s/trees", "/s/trees/b2"} {
		if !refused(isolatedPolicy(), cwd, "ls") {
			t.Errorf("a command in %q is not refused", cwd)
		}
	}
}

// TestBoundsOfRemoval: a removal of nearly all is critical, one of a part is not.
func TestBoundsOfRemoval(t *testing.T) {
	for command, critical := range map[string]bool{
		"rm -rf /srv/proj/a": false, "rm -rf /srv/proj": true, "rm -rf /srv": true, "rm -rf /srv/x": false, "rm -rf /x": true, "rm -rf /x/y": false, "rm -rf /home/ann/x": false, "rm -rf /home/ann": true, "rm -rf /home": true, "rm -rf /home/bob": false,
		"rm -rf sub/*": false, "rm -rf ?*": true, "rm -rf .*": true, "rm -rf *.o": false, "rm -rf [a-z]*": false, "rm -rf /srv/proj/*": true, "rm -rf /srv/proj/*.o": false, "rm -rf /srv/x/*": false, "rm -rf /*/*": true, "rm -rf /tmp/*": true,
		"cd $X; rm -rf a": false, "cd $X; rm -rf .": true, "cd $X; rm -rf ..": true, "cd $X; rm -rf ./a": false, "cd $X; rm -rf *": true, "cd $X; rm -rf a/*": false, "cd $X; rm -rf ../a": true, "cd $X; rm -rf *.o": true, "cd sub; rm -rf ../a": false, "cd sub && rm -rf ..": true,
		"find a -delete": false, "find -delete": true, "find -L . -delete": true, "find -L a -delete": false, "find a . -delete": true, "find a -name . -delete": false, "find ! -name a -delete": true, "find a -exec rm {} +": false, "rm $X": false, "rm $X/": true, "rm $X*": true, "rm ${X:?}/": false, "rm -rf {a,b}": false, "rm -rf {a,/}": true,
	} {
		d := Decide(policy(Bypass), bash(command))
		if got := d.Rule == "critical removal"; got != critical {
			t.Errorf("%q: critical %v, want %v (%s)", command, got, critical, d.Reason)
		}
	}
	p := policy(Bypass)
	p.Home = ""
	check(t, p, bash("rm -rf /home/ann"), Allow)
}

// TestBoundsOfRules: what a rule names is neither more nor less than what it says.
func TestBoundsOfRules(t *testing.T) {
	p := policy(Default)
	p.Allow = rules(t, "Bash(* x)", "Bash(make:*)", "Bash(a b)", "Bash(timeout 5 b)")
	for command, want := range map[string]Behavior{
		"$X x": Ask, "m*e x": Ask, "foo x": Allow, "x": Ask, "make": Allow, "make a": Allow, "maker": Ask, "a b": Allow, "a b c": Ask, "a": Ask, "timeout 5 make": Allow, "timeout 5 b": Allow, "timeout 6 b": Ask, "env PATH=. make": Ask, "env x=1 make": Allow,
		"PATH=. make": Ask, "x=1 make": Allow, "find . -exec x {} +": Ask, "watch x": Ask, "make > out": Ask, "make < a": Allow, "make < /etc/hosts": Ask, "make 2>&1": Allow, "timeout 5": Ask,
	} {
		check(t, p, bash(command), want)
	}
	for command, denied := range map[string]bool{
		"swarm permissions allow x": true, "swarm permissions ask x": true, "swarm permissions deny x": true, "swarm permissions remove x": true, "swarm permissions list": false, "swarm permissions list allow": false, "swarm permissions check allow": false, "swarm permissions": false, "swarm permissions $X": true, "swarm permissions --x allow": true,
		"swarm permissions x": false, "swarm ps": false, "swarm": false, "swarm trust": true, "swarm $X": true, "/usr/bin/swarm trust": true, "swarms trust": false, "swarm approvals": true, "swarm x approvals": true, "swarm x --trust-dir": true, "swarm x --trust-dir=/": true, "sw''arm trust": true, "swarm$X trust": true,
	} {
		if d := Decide(policy(Bypass), bash(command)); (d.Rule == "answer of an agent") != denied {
			t.Errorf("%q: %+v", command, d)
		}
	}
	p = policy(Bypass)
	p.Dirs = []string{"/srv/proj", "/opt/b"}
	p.Deny = []Rule{{Tool: "Read", Specifier: "/keys/**", Base: "/main"}, {Tool: "Read", Specifier: ".env"}}
	for path, want := range map[string]Behavior{
		"/main/keys/a": Deny, "/srv/proj/keys/a": Deny, "/opt/b/keys/a": Allow, "/srv/proj/.env": Deny, "/opt/b/.env": Deny, "/opt/b/c/.env": Deny, "/opt/c/.env": Allow,
	} {
		check(t, p, tool("Read", "file_path", path), want)
		if read, change := Denials(p, "/srv/proj")(path, false); read != (want == Deny) || change != read {
			t.Errorf("commands are denied to read %s: %v, to change it: %v", path, read, change)
		}
	}
	if conceals := Conceals(p, "/srv/proj"); !conceals("/opt/b/.env") || conceals("/opt/b/env") {
		t.Error("a search shows what is denied, or hides what is not")
	}
	p = policy(Default)
	p.Allow = rules(t, "Bash(make)", "Read(//tmp/a)", "Edit(//tmp/b)", "Grep(//tmp/c)")
	if d := Decide(p, bash("f() { make; }; f")); d.Behavior != Ask || !strings.Contains(d.Reason, "it defines a function") {
		t.Errorf("what hides its parts: %s, %s", d.Behavior, d.Reason)
	}
	for r, want := range map[*Request]Behavior{
		new(tool("Read", "file_path", "/tmp/a")): Allow, new(tool("Read", "file_path", "/tmp/b")): Allow, new(tool("Read", "file_path", "/tmp/c")): Ask, new(tool("Grep", "pattern", "x", "path", "/tmp/c")): Allow,
		new(tool("Write", "file_path", "/tmp/a")): Ask, new(tool("Write", "file_path", "/tmp/b")): Allow,
	} {
		check(t, p, *r, want)
	}
	if Conceals(policy(Default), "/srv/proj") != nil || Denials(policy(Default), "/srv/proj") != nil {
		t.Error("without rules something is concealed")
	}
}

// TestBoundsOfPatterns: a pattern for paths matches whole names.
func TestBoundsOfPatterns(t *testing.T) {
	for _, x := range []struct {
		spec, path string
		want       bool
	}{
		{"/a", "/srv/proj/a", true},
		{"/a", "/srv/proj/a/b", true},
		{"/a", "/srv/proj/ab", false},
		{"/a/**", "/srv/proj/a", false},
		{"/a/**", "/srv/proj/a/b/c", true},
		{"/**/b", "/srv/proj/b", true},
		{"/**/b", "/srv/proj/a/c/b", true},
		{"/**/b/**", "/srv/proj/b", false},
		{"/a/*/c", "/srv/proj/a/b/c", true},
		{"/a/*/c", "/srv/proj/a/c", false},
		{"/**", "/srv/proj", true},
		{"/**", "/srv", false},
		{"//", "/etc", true},
		{"~", "/home/ann/x", true},
		{"~", "/home/bob/x", false},
		{"/[!a]", "/srv/proj/b", true},
		{"/[!a]", "/srv/proj/a", false},
		{"../x", "/srv/x", true},
		{"./x", "/srv/proj/x", true},
		{"./x", "/srv/proj/a/x", false},
		{"x", "/srv/proj/a/x", true},
		{"a/x", "/srv/proj/b/a/x", false},
		{"a/**", "/srv/proj/b/a/x", true},
	} {
		p := policy(Bypass)
		p.Deny = rules(t, "Read("+x.spec+")")
		if got := Decide(p, tool("Read", "file_path", x.path)).Behavior == Deny; got != x.want {
			t.Errorf("%s matches %s: %v", x.spec, x.path, got)
		}
	}
}

// TestBoundsOfSuggestions: a rule for a subcommand is offered where that limits what the
// program does, and one for exactly this command elsewhere.
func TestBoundsOfSuggestions(t *testing.T) {
	for command, want := range map[string]string{
		"git commit -m x": "Bash(git commit:*)", "git rebase -x a": "Bash(git rebase -x a)", "git config a b": "Bash(git config a b)", "go test ./...": "Bash(go test:*)", "go run .": "Bash(go run .)", "cargo test": "Bash(cargo test:*)", "cargo run": "Bash(cargo run)",
		"npm ci": "Bash(npm ci:*)", "yarn add a": "Bash(yarn add:*)", "npm run a": "Bash(npm run a)", "gh pr create": "Bash(gh pr:*)", "gh api x": "Bash(gh api x)", "docker ps": "Bash(docker ps:*)", "docker run a": "Bash(docker run a)", "kubectl get a": "Bash(kubectl get:*)", "kubectl exec a": "Bash(kubectl exec a)",
		"pip install a": "Bash(pip install:*)", "pip3 install a": "Bash(pip3 install:*)", "uv sync": "Bash(uv sync:*)", "uv run a": "Bash(uv run a)", "make all": "Bash(make all)", "timeout 5 make all": "Bash(make all)", "go 'test' x": "Bash(go test:*)", "go -C x test": "Bash(go -C x test)",
		"make all*": "", "$X a": "", "make $X": "Bash(make $X)", "f() { make; }; f": "", "make 'a": "", "env PATH=. make": "", "make; make2; make3; make4; make5; make6": "",
	} {
		got := Suggest(policy(Default), bash(command))
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
	p := policy(Default)
	p.Allow = rules(t, "Bash(make)")
	if got := Suggest(p, bash("make; a; make > out")); strings.Join(got, " ") != "Bash(a) Edit(//srv/proj/out)" {
		t.Errorf("beside a part with a rule %q is offered", got)
	}
	if got := Suggest(policy(Default), bash("make; make2; make3; make4; make5")); len(got) != maxSuggested {
		t.Errorf("for five parts %q is offered", got)
	}
}
