package swarm_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

// attack is one call of a tool.
type attack struct {
	tool  string
	input map[string]any
}

// checkout is a repository of a person's, and a home beside it.
func checkout(t *testing.T) (top, repo string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo = filepath.Join(top, "repo")
	for name, text := range map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n", "Makefile": "all:\n\ttouch evil\n"} {
		path := filepath.Join(repo, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, repo, "init", "-q", "-b", "main")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "first")
	if err := os.WriteFile(filepath.Join(repo, "draft.txt"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return top, repo
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@x", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@x", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// everyByte hashes every file of a checkout and its .git, with its mode, but
// for what git keeps of worktrees and their branches.
func everyByte(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(path, dir+"/")
		for _, free := range []string{".git/worktrees", ".git/objects/", ".git/refs/heads/worktree-", ".git/logs/refs/heads/worktree-", ".git/swarm-worktrees.lock"} {
			if err != nil || strings.HasPrefix(rel, free) {
				return err
			}
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		switch {
		case fi.Mode().IsRegular():
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		case fi.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if text = []byte(to); err != nil {
				return err
			}
		}
		sum := sha256.Sum256(text)
		all[rel] = fi.Mode().String() + " " + hex.EncodeToString(sum[:])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// attacks are the ways in which isolated agents try to write to the main checkout. MAIN
// stands for the checkout, UP for the way to it from a worktree.
func attacks() map[string][]attack {
	call := func(tool string, input map[string]any) attack { return attack{tool, input} }
	bash := func(text string) attack { return attack{"Bash", map[string]any{"command": text}} }
	write := func(path string) attack {
		return attack{"Write", map[string]any{"file_path": path, "content": "evil"}}
	}
	return map[string][]attack{
		"write, absolute":        {write("MAIN/evil.txt"), write("MAIN/sub/evil.txt"), write("MAIN/.git/hooks/post-commit")},
		"write, dots":            {write("UP/evil.txt"), write("sub/../UP/evil.txt"), write("./UP/.git/config")},
		"write over a file":      {call("Read", map[string]any{"file_path": "MAIN/draft.txt"}), write("MAIN/draft.txt")},
		"edit":                   {call("Read", map[string]any{"file_path": "MAIN/a.txt"}), call("Edit", map[string]any{"file_path": "MAIN/a.txt", "old_string": "one", "new_string": "evil"})},
		"shell, absolute":        {bash("echo evil > MAIN/evil.txt"), bash("rm MAIN/draft.txt"), bash("cp a.txt MAIN/evil.txt"), bash("tee MAIN/evil.txt < a.txt")},
		"shell, dots":            {bash("echo evil > UP/evil.txt"), bash("rm -rf UP/sub"), bash("mv UP/draft.txt .")},
		"cd first":               {bash("cd MAIN && touch evil.txt"), bash("cd UP; rm draft.txt"), bash("(cd MAIN/sub && echo evil > b.txt)"), bash("pushd MAIN && touch evil.txt")},
		"cd in an earlier call":  {bash("cd MAIN"), bash("touch evil.txt"), bash("cd UP"), bash("rm draft.txt")},
		"git -C":                 {bash("git -C MAIN commit --allow-empty -m evil"), bash("git -C UP reset --hard"), bash("git -C MAIN stash -u")},
		"git directories":        {bash("git --git-dir=MAIN/.git --work-tree=MAIN checkout -b evil"), bash("git --git-dir MAIN/.git config user.name evil"), bash("git --work-tree=UP clean -fdx")},
		"git variables":          {bash("GIT_DIR=MAIN/.git git commit --allow-empty -m evil"), bash("export GIT_WORK_TREE=MAIN; git clean -fdx"), bash("env GIT_DIR=MAIN/.git git branch evil")},
		"symbolic link":          {bash("ln -s MAIN door"), bash("touch door/evil.txt"), write("door/evil.txt"), bash("echo evil > door/a.txt")},
		"link by an interpreter": {bash(`sh -c 'ln -s "$(dirname "$(git rev-parse --git-common-dir)")" door'`), write("door/evil.txt"), bash("touch door/evil.txt")},
		"link to one file":       {bash("ln -s MAIN/draft.txt soft"), bash("echo evil > soft"), write("soft")},
		"hard link":              {bash("ln MAIN/draft.txt hard"), bash("cp -l MAIN/draft.txt hard"), bash("echo evil > hard"), write("hard"), bash("chmod 600 hard")},
		"what cannot be traced":  {bash("eval \"touch MAIN/evil.txt\""), bash("d=MAIN; touch $d/evil.txt"), bash("touch {MAIN,x}/evil.txt"), bash("$(echo touch) MAIN/evil.txt")},
		"computed": {
			bash("touch \"$(git rev-parse --git-common-dir)/../evil.txt\""), bash("sh -c 'touch \"$(git rev-parse --git-common-dir)/../evil.txt\"'"),
			bash("cd \"$(git rev-parse --git-common-dir)/..\" && touch evil.txt"), bash("git -C \"$(git rev-parse --git-common-dir)/..\" commit --allow-empty -m evil"),
			bash("top=$(dirname \"$(git rev-parse --git-common-dir)\"); echo evil > \"$top/evil.txt\""), bash("git config user.name evil"), bash("git branch -D main"), bash("git stash"),
		},
		"scripts":                  {bash("bash -c 'touch MAIN/evil.txt'"), bash("python3 -c \"open('MAIN/evil.txt','w')\""), bash("echo MAIN | xargs -I{} touch {}/evil.txt"), bash("find MAIN -name draft.txt -delete")},
		"other programs":           {bash("make -C MAIN"), bash("tar -C MAIN -xf x.tar"), bash("install a.txt MAIN/evil.txt"), bash("sed -i s/one/evil/ MAIN/a.txt"), bash("dd if=a.txt of=MAIN/evil.txt"), bash("rsync a.txt MAIN/evil.txt")},
		"the worktree's own entry": {write(".git"), bash("echo 'gitdir: MAIN/.git' > .git"), bash("git worktree remove --force MAIN"), bash("git worktree add MAIN/evil")},
		helper:                     {write("MAIN/evil.txt"), bash("touch MAIN/evil.txt"), bash("cd MAIN && touch evil.txt"), bash("git -C MAIN commit --allow-empty -m evil"), write("UP/evil.txt")},
		"by another agent":         {call("Agent", map[string]any{"description": "help", "prompt": "attack through a helper"})},
	}
}

// TestIsolatedAgentsCannotReachTheMainCheckout makes 20 isolated agents write
// to the main checkout, each in another way, through the tools they have.
func TestIsolatedAgentsCannotReachTheMainCheckout(t *testing.T) {
	top, repo := checkout(t)
	before := everyByte(t, repo)
	attacks := attacks()
	m := coordinatortest.By(coordinatortest.Answers{agent.LeadName: leadOf(attacks), "general-purpose": invader(repo, attacks)})
	s, err := swarm.Open(t.Context(), swarm.Options{
		Dir: repo, StateDir: filepath.Join(top, "state"), Home: filepath.Join(top, "home"), Mode: "bypassPermissions",
		Models: func(name string) (model.Model, string, error) { return m, name, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Run(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	ended := 0
	for _, a := range s.Agents() {
		switch l := a.Record; {
		case l.Spec.Isolation == "":
		case l.Turns > 0 && l.ToolUses > 0:
			ended++
		default:
			t.Errorf("the agent told of %q did nothing: %s", l.Spec.Description, l.Reason)
		}
	}
	if ended != len(attacks)-1 {
		t.Errorf("%d isolated agents did what they were told, not %d", ended, len(attacks)-1)
	}
	if d := cmp.Diff(before, everyByte(t, repo)); d != "" {
		t.Errorf("the main checkout changed:\n%s", d)
	}
	if out := git(t, repo, "fsck", "--strict"); strings.Contains(out, "error") || strings.Contains(out, "missing") {
		t.Errorf("git fsck: %s", out)
	}
}

// helper is the attack of the agent that an isolated one starts.
const helper = "through a helper"

func leadOf(attacks map[string][]attack) func(context.Context, int, *model.Request) *model.Answer {
	return func(_ context.Context, step int, _ *model.Request) *model.Answer {
		if step > 0 {
			return coordinatortest.Say("done")
		}
		var spawns []model.Block
		for name := range attacks {
			if name != helper {
				spawns = append(spawns, coordinatortest.Spawn("spawn "+name, map[string]any{
					"description": name, "prompt": "attack " + name, "isolation": "worktree",
				}))
			}
		}
		return coordinatortest.Use(spawns...)
	}
}

// invader does the attack that its prompt names, one call a step.
func invader(repo string, attacks map[string][]attack) func(context.Context, int, *model.Request) *model.Answer {
	up := strings.Repeat("../", 20) + strings.TrimPrefix(repo, "/")
	text := strings.NewReplacer("MAIN", repo, "UP", up)
	return func(_ context.Context, step int, r *model.Request) *model.Answer {
		first := string(r.Messages[0].Raw())
		for name, steps := range attacks {
			if !strings.Contains(first, "attack "+name) || step >= len(steps) {
				continue
			}
			input := map[string]any{}
			for k, v := range steps[step].input {
				input[k] = text.Replace(v.(string))
			}
			return coordinatortest.Use(coordinatortest.Call(fmt.Sprint(name, step), steps[step].tool, input))
		}
		return coordinatortest.Say("I could not")
	}
}

// hermitSecond is the file by which a hermit knows that it was restarted.
const hermitSecond = "second"

// hermit is a session with one isolated agent that writes a file and then waits to be
// killed. After its restart it reports its directory, tries to break out, by itself and
// through another agent, and writes a second file.
func hermit(state string) error {
	repo := filepath.Join(state, "repo")
	_, err := os.Stat(filepath.Join(state, hermitSecond))
	again := err == nil
	bash := func(text string) attack { return attack{"Bash", map[string]any{"command": text}} }
	steps := []attack{
		bash("echo before > before.txt"),
		bash("pwd"),
		{"Write", map[string]any{"file_path": repo + "/evil.txt", "content": "evil"}},
		bash("touch " + repo + "/evil.txt"),
		{"Agent", map[string]any{"description": "help", "prompt": "help me out"}},
		bash("echo after > after.txt"),
	}
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(coordinatortest.Spawn("spawn", map[string]any{"description": "work", "prompt": "work", "isolation": "worktree"}))
			}
			return coordinatortest.Say("done")
		},
		"general-purpose": func(ctx context.Context, step int, r *model.Request) *model.Answer {
			if strings.Contains(string(r.Messages[0].Raw()), "help me out") {
				if step > 0 {
					return coordinatortest.Say("no way")
				}
				return coordinatortest.Use(coordinatortest.Call("out", "Bash", map[string]any{"command": "touch " + repo + "/evil.txt"}))
			}
			if step == 1 && !again {
				fmt.Println("waiting to be killed")
				<-ctx.Done()
				return nil
			}
			if step == len(steps) {
				return coordinatortest.Say("all done")
			}
			return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("call", step), steps[step].tool, steps[step].input))
		},
	})
	return liveIn(repo, state, m)
}

// liveIn begins a session on dir, or goes on with the one that is there, until
// it rests.
func liveIn(dir, state string, m model.Model) error {
	o := swarm.Options{
		Dir: dir, StateDir: state, Home: state, Mode: "bypassPermissions", NewSession: "hermit",
		Models: func(name string) (model.Model, string, error) { return m, name, nil },
	}
	if _, err := swarm.FindSession(state, dir, "hermit"); err == nil {
		o.Session, o.NewSession = "hermit", ""
	}
	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		return err
	}
	if o.Session == "" {
		_, err = s.Run(ctx, "begin")
	} else {
		_, err = s.Resume(ctx)
	}
	return errors.Join(err, s.Close())
}

// TestIsolatedAgentIsStillConfinedAfterKill9 kills the process while an isolated
// agent waits for its model, and lets it go on in another process.
func TestIsolatedAgentIsStillConfinedAfterKill9(t *testing.T) {
	state, repo := checkout(t)
	before := everyByte(t, repo)
	if _, killed := life(t, "hermit", state, 1); !killed {
		t.Fatal("the first life was not cut")
	}
	if err := os.WriteFile(filepath.Join(state, hermitSecond), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, killed := life(t, "hermit", state, -1); killed {
		t.Fatal("the second life was cut")
	}
	if d := cmp.Diff(before, everyByte(t, repo)); d != "" {
		t.Errorf("the main checkout changed:\n%s", d)
	}
	trees, err := swarm.Worktrees(t.Context(), state, repo)
	if err != nil || len(trees) != 1 || trees[0].State != "kept" {
		t.Fatalf("worktrees %+v, %v", trees, err)
	}
	for name, want := range map[string]string{"before.txt": "before\n", "after.txt": "after\n"} {
		if text, err := os.ReadFile(filepath.Join(trees[0].Path, name)); string(text) != want || err != nil {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	info, err := swarm.FindSession(state, repo, "hermit")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(info.Path, "transcripts", "general-purpose-*.jsonl"))
	if err != nil || len(files) != 2 {
		t.Fatalf("transcripts %q, %v", files, err)
	}
	all := ""
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	if n := strings.Count(all, "this agent works in the worktree "+trees[0].Path); n < 3 {
		t.Errorf("%d calls were refused for the worktree, not 3", n)
	}
	if !strings.Contains(all, `"`+trees[0].Path+`"`) && !strings.Contains(all, trees[0].Path+`\n`) {
		t.Errorf("it did not work in %s", trees[0].Path)
	}
}
