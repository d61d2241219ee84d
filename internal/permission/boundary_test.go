package permission

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/shell"
)

// isolatedPolicy is the policy of an agent that may do anything in its worktree
// /s/trees/a1 and must keep out of the checkout /main.
func isolatedPolicy() Policy {
	return Policy{
		Mode: Bypass, Dirs: []string{"/s/trees/a1"}, Home: "/home/u",
		Resolve: func(p string) string {
			if rest, ok := strings.CutPrefix(p, "/s/trees/a1/out"); ok && (rest == "" || rest[0] == '/') {
				return "/main" + rest
			}
			return p
		},
		Boundary: &Boundary{
			Worktree: "/s/trees/a1", Protected: []string{"/main", "/main/.git", "/s/trees"},
			HardLinkTarget: func(p string) (string, error) {
				switch p {
				case "/s/trees/a1/hard":
					return "/main/a.go", nil
				case "/s/trees/a1/unknown":
					return "", errors.New("no way")
				}
				return "", nil
			},
		},
	}
}

func TestIsolatedAgentStaysInItsWorktree(t *testing.T) {
	p := isolatedPolicy()
	at := func(cwd string, r Request) Request { r.Cwd = cwd; return r }
	here := func(r Request) Request { return at("/s/trees/a1", r) }
	refused := []Request{
		here(tool("Write", "file_path", "/main/x")),
		here(tool("Edit", "file_path", "../../../main/x")),
		here(tool("NotebookEdit", "notebook_path", "/main/n.ipynb")),
		here(tool("Write", "file_path", "out/x")),
		here(tool("Edit", "file_path", "hard")),
		here(tool("Edit", "file_path", "unknown")),
		here(tool("Write", "file_path", "/s/trees/b2/x")),
		here(tool("Write", "file_path", ".git")),
		at("/main", bash("ls")),
		at("/main/sub", bash("make")),
		at("/s/trees/a1/out", bash("ls")),
		at("", bash("ls")),
		at("/main", tool("PowerShell", "command", "ls")),
		at("/main", tool("Monitor", "command", "tail -f x")),
	}
	for _, cmd := range []string{
		"echo x > /main/a", "echo x > ../../../main/a", "echo x >out/a", "echo x | tee hard", "cp a /ma''in/b",
		"cd /main && make", "cd /main; ls", "cd ../../../main && git log", "(cd /main && touch x)", "pushd /main; touch x", "cd $X && touch y", "cd out && ls",
		"git -C /main status", "git -C ../../../main log", "git -C .. -C ../../main log", "git --git-dir=/main/.git log", "git --git-dir /main/.git log",
		"git --work-tree /main checkout .", "GIT_DIR=/main/.git git log", "export GIT_WORK_TREE=/main; git status", "env GIT_DIR=/main/.git git log",
		"GIT_DIR=$X git log", "git -C $X log", "git -c core.worktree=/main status", "git -c alias.x='!touch y' x", "GIT_CONFIG_COUNT=1 git log",
		"export GIT_DIR; git log", "git $sub", "git worktree remove /x", "git config core.hooksPath /x", "git update-ref refs/heads/main HEAD", "git symbolic-ref HEAD refs/heads/x",
		"sh -c 'git -C /main log'", "timeout 5 git -C /main log", "find . -exec git -C /main log ';'", "eval 'cd /main; touch x'",
		"ln -s /main x", "ln /main/a.go x", "rm -rf /s", "mv /main x", "python3 -c 'open(\"/main/x\",\"w\")'", "make -C/main", "make -C ../../../main", "dd if=a of=../../../main/x",
		"for f in /main/*; do rm $f; done", "X=/main; touch $X/y", "cp a $PWD/../../../main/x",
		"echo {a,b}", "$cmd x", "${!x} y", "echo ${!x}", "echo ${ touch x; }", "cat <<E\n$(touch x)\nE", "eval \"$x\"", "echo 'unclosed",
		"top=$(dirname \"$(git rev-parse --git-common-dir)\"); echo x > \"$top/x\"", "sh -c 'ln -s \"$(dirname \"$(git rev-parse --git-dir)\")\" x'",
		"d=$(sed 's/gitdir: //' .git); touch $d", "read d < .git; touch $d", "rm -rf $(git worktree list | awk '{print $1}')",
		"git branch -m main x", "git branch -D other", "git branch -f other HEAD", "git stash", "git stash pop", "git gc", "git remote add x y",
		"git tag -d v1", "git checkout -B other", "git switch -C other", "git reflog expire --all", "git push . HEAD:other", "git fetch . HEAD:other",
		"f() { cd $1; touch x; }; f /tmp", "env -C /main touch x", "git -C \"$(pwd)\" status",
	} {
		refused = append(refused, here(bash(cmd)))
	}
	for _, r := range refused {
		if d := Decide(p, r); d.Behavior != Deny || d.Rule != "worktree isolation" || !strings.Contains(d.Reason, "/s/trees/a1") {
			t.Errorf("%s in %q: %+v, want a denial that names the worktree", r.Input, r.Cwd, d)
		}
	}
	free := []Request{
		here(tool("Write", "file_path", "a.go")),
		here(tool("Write", "file_path", "/s/trees/a1/sub/a.go")),
		here(tool("Write", "file_path", "/tmp/x")),
		here(tool("Read", "file_path", "/main/a.go")),
		at("/s/trees/a1", tool("PowerShell", "command", "ls")),
	}
	for _, cmd := range []string{
		"ls", "make", "go test ./... 2>&1 | tee /tmp/log", "git status", "git commit -am 'x'", "git -C sub log", "git -C /s/trees/a1 diff", "git -C /tmp/other log",
		"cat /main/a.go", "cd sub && touch x", "cd /tmp && touch x", "cd /s/trees/a1 && go build ./...", "echo x > /s/trees/a1/y", "cat <<E > x\nplain\nE", "cat <<'E' > x\n$y\nE",
		"for f in *.go; do gofmt -w \"$f\"; done", "git config --get user.name", "git worktree list", "rm -rf build", "awk '{print $1,$2}' f", "git log HEAD@{1}",
		"git rev-parse --git-common-dir", "cat .git", "git rev-parse --show-toplevel && make", "touch x.git", "git commit -m worktree && make",
		"git branch new", "git branch --merged", "git tag v2", "git checkout -b new", "git stash list", "git remote -v", "git push origin HEAD", "git reflog",
		"grep -r mainly . && make", "touch /mainly", "X=1 make", "git symbolic-ref HEAD",
	} {
		free = append(free, here(bash(cmd)))
	}
	for _, r := range free {
		if d := Decide(p, r); d.Rule == "worktree isolation" {
			t.Errorf("%s in %q: %+v, want it left to the rules", r.Input, r.Cwd, d)
		}
	}
}

func TestIsolationComesBeforeRulesAndModes(t *testing.T) {
	for _, m := range []Mode{Default, AcceptEdits, Plan, DontAsk, Bypass} {
		p := isolatedPolicy()
		p.Mode, p.Allow = m, rules(t, "Bash", "Edit", "Write")
		for _, r := range []Request{bash("git -C /main log"), tool("Write", "file_path", "/main/x")} {
			r.Cwd = "/s/trees/a1"
			if d := Decide(p, r); d.Behavior != Deny || d.Rule != "worktree isolation" {
				t.Errorf("mode %s: %+v", m, d)
			}
		}
	}
}

// FuzzBoundary runs what an isolated agent may run and checks that the main
// checkout is unchanged. The programs are those whose arguments say what they write.
func FuzzBoundary(f *testing.F) {
	for _, s := range []string{"touch ../main/x", "cd ../main && touch x", "echo a > ../main/a", "ln -s ../main l; touch l/x", "git -C ../main commit --allow-empty -m x", "cp a ../ma''in/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cmd string) {
		if strings.Trim(cmd, "abcdefghilmnoprstuvx ./>;&|'\"{},-C\n\\()") != "" || len(cmd) > 80 {
			t.Skip("outside the alphabet")
		}
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		tree, main := filepath.Join(top, "tree"), filepath.Join(top, "main")
		if err := errors.Join(os.Mkdir(tree, 0o755), os.Mkdir(main, 0o755)); err != nil {
			t.Fatal(err)
		}
		p := Policy{Mode: Bypass, Home: tree, Resolve: resolved, Boundary: &Boundary{Worktree: tree, Protected: []string{main}}}
		r := bash(cmd)
		r.Cwd = tree
		if Decide(p, r).Behavior != Allow || !harmlessToRun(cmd) {
			return
		}
		run := exec.CommandContext(t.Context(), "bash", "-c", cmd)
		run.Dir, run.Env = tree, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tree}
		if out, err := run.CombinedOutput(); err != nil {
			t.Logf("%q: %v: %s", cmd, err, out) // it need not work
		}
		if left, err := os.ReadDir(main); err != nil || len(left) > 0 {
			t.Errorf("%q was allowed and wrote %v to the main checkout (%v)", cmd, left, err)
		}
	})
}

// harmlessToRun keeps the fuzzer to a few programs and relative paths.
func harmlessToRun(cmd string) bool {
	s := shell.Parse(cmd, "/", "")
	for i := range s.Commands {
		if len(s.Commands[i].Words) > 0 && !slices.Contains([]string{"touch", "echo", "cd", "cp", "ln", "mkdir", "true", "tee"}, s.Commands[i].Words[0].Text) {
			return false
		}
	}
	for i, c := range cmd {
		if c == '/' && (i == 0 || !isNameByte(cmd[i-1])) {
			return false // it may be an absolute path
		}
	}
	return strings.Count(cmd, "..") <= 2 && s.Err == nil
}

// resolved follows links as far as the path exists.
func resolved(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	if dir := filepath.Dir(p); dir != p {
		return filepath.Join(resolved(dir), filepath.Base(p))
	}
	return p
}
