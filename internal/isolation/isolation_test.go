package isolation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/mailbox"
)

// place is a repository, a session's directory and agents.
type place struct {
	t           *testing.T
	repo, state string
	store       *transcript.Store
	hooks       map[string][]string // commands, by event
}

func newPlace(t *testing.T) *place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, repo: filepath.Join(top, "repo"), state: filepath.Join(top, "state"), hooks: map[string][]string{}}
	for _, dir := range []string{p.repo, p.state} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = p.repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	if p.store, err = transcript.Open(t.Context(), p.state, "s1", transcript.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *place) dirs() *Directories {
	return New(Options{
		Session: "s1", Root: p.state, Dir: p.repo, Agents: p.store, Transcripts: filepath.Join(p.state, "transcripts"), Hooks: p.read,
	})
}

// read makes the hooks of the place look as those of a settings file.
func (p *place) read() *hook.Set {
	events := map[string]any{}
	for event, commands := range p.hooks {
		var all []any
		for _, c := range commands {
			all = append(all, map[string]string{"type": "command", "command": c})
		}
		events[event] = []any{map[string]any{"hooks": all}}
	}
	raw, err := json.Marshal(events)
	if err != nil {
		p.t.Fatal(err)
	}
	set, problems := hook.Parse([]hook.File{{Path: "settings.json", Hooks: raw}})
	if len(problems) > 0 {
		p.t.Fatal(problems)
	}
	return set
}

// born records an agent.
func (p *place) born(id, parent mailbox.AgentID, dir string) agent.Spec {
	p.t.Helper()
	t, _, err := p.store.Create(agent.Spec{ID: id, Name: string(id), Parent: parent, Role: agent.Foreground, Dir: dir})
	if err != nil {
		p.t.Fatal(err)
	}
	return t.Spec()
}

func (p *place) lease(spec agent.Spec, incarnation uint32) *Lease {
	p.t.Helper()
	l, err := p.dirs().Lease(p.t.Context(), spec, incarnation)
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

func TestLeaseIsTakenOverByTheNextIncarnation(t *testing.T) {
	p := newPlace(t)
	spec := agent.Spec{ID: "ann", Dir: p.repo, Isolation: "worktree"}
	first, second := p.lease(spec, 1), p.lease(spec, 2)
	if first.Dir != second.Dir || !strings.HasPrefix(first.Dir, p.state+"/worktrees/") {
		t.Errorf("the incarnations have %s and %s; want one worktree of the session", first.Dir, second.Dir)
	}
	if kept, err := second.Release(t.Context()); err != nil || kept != nil || isDir(second.Dir) {
		t.Errorf("the release of an untouched worktree: kept %v, %v", kept, err)
	}
}

func TestReleaseKeepsADirectoryThatAnotherAgentUses(t *testing.T) {
	p := newPlace(t)
	spec := p.born("ann", "", p.repo)
	l := p.lease(spec, 1)
	p.born("ben", "ann", filepath.Join(l.Dir, "sub"))
	kept, err := l.Release(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if kept == nil || !slices.Contains(kept.Why, "agent ben works in it") || !isDir(l.Dir) {
		t.Errorf("kept %+v; want the directory, since ben works in it", kept)
	}
}

func TestBoundaryHoldsForAgentsBelow(t *testing.T) {
	p := newPlace(t)
	p.born("lead", "", p.repo)
	ann := agent.Spec{ID: "ann", Parent: "lead", Role: agent.Foreground, Dir: p.repo, Isolation: "worktree"}
	ann.Dir = p.lease(ann, 1).Dir
	if _, _, err := p.store.Create(ann); err != nil {
		t.Fatal(err)
	}
	below := p.born("ben", "ann", ann.Dir)
	own, inherited := p.dirs().Boundary(t.Context(), ann), p.dirs().Boundary(t.Context(), below)
	if own == nil || inherited == nil || own.Worktree != ann.Dir || inherited.Worktree != own.Worktree || !slices.Equal(own.Protected, inherited.Protected) {
		t.Errorf("ann's boundary is %+v and that of the agent below %+v; want the same", own, inherited)
	}
	if b := p.dirs().Boundary(t.Context(), agent.Spec{ID: "carl", Parent: "lead"}); b != nil {
		t.Errorf("an agent that is not isolated has the boundary %+v", b)
	}
}

func TestOffLimitsAreTheCheckoutsAbove(t *testing.T) {
	p := newPlace(t)
	elsewhere := filepath.Join(filepath.Dir(p.repo), "elsewhere")
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	p.born("lead", "", elsewhere)
	off, err := p.dirs().offLimits(t.Context(), agent.Spec{ID: "ann", Parent: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{p.repo, filepath.Join(p.repo, ".git"), elsewhere, filepath.Join(p.state, "worktrees"), filepath.Join(p.state, "made")} {
		if !slices.ContainsFunc(off, func(o string) bool { return within(dir, o) }) {
			t.Errorf("%s is not off limits; these are: %s", dir, off)
		}
	}
}

func TestBoundaryWithoutAnswerIsEverything(t *testing.T) {
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.repo, ".git", "config"), []byte("[broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := p.dirs().Boundary(t.Context(), agent.Spec{ID: "ann", Dir: "/tmp/tree", Isolation: "worktree"})
	if b == nil || !slices.Equal(b.Protected, []string{"/"}) {
		t.Fatalf("the boundary is %+v; want everything off limits", b)
	}
	input, err := json.Marshal(map[string]string{"file_path": "/somewhere/else", "content": "x"})
	if err != nil {
		t.Fatal(err)
	}
	d := permission.Decide(permission.Policy{Mode: permission.Bypass, Boundary: b}, permission.Request{Tool: "Write", Input: input})
	if d.Behavior != permission.Deny {
		t.Errorf("a write outside is answered %v", d.Behavior)
	}
}

func TestHooksMakeOneDirectory(t *testing.T) {
	p := newPlace(t)
	area := filepath.Join(filepath.Dir(p.repo), "area")
	create := fmt.Sprintf("mkdir -p %[1]s/$PPID && echo %[1]s/$PPID", area)
	spec := agent.Spec{ID: "ann", Dir: p.repo, Isolation: "worktree"}
	for name, c := range map[string]struct {
		hooks []string
		err   string
	}{
		"one":        {hooks: []string{create}},
		"the same":   {hooks: []string{create, create}},
		"none":       {hooks: []string{"true"}, err: "must print the path of one directory"},
		"two":        {hooks: []string{create, "echo " + p.repo}, err: "they printed 2"},
		"one failed": {hooks: []string{create, "exit 1"}, err: "; " + area},
		"refused":    {hooks: []string{create, `echo '{"decision":"block","reason":"not today"}'`}, err: "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			p.hooks = map[string][]string{worktreeCreate: c.hooks, worktreeRemove: {"rm -r " + area}}
			l, err := p.dirs().Lease(t.Context(), spec, 1)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the lease fails with %v; want %q in it", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(l.Dir, area) {
				t.Errorf("the directory is %s; want the one of the hook, in %s", l.Dir, area)
			}
			if kept, err := l.Release(t.Context()); err != nil || kept != nil || isDir(area) {
				t.Errorf("the release of an untouched directory: kept %+v, %v", kept, err)
			}
		})
	}
}

func TestRemainsAreListedWhoeverMadeThem(t *testing.T) {
	p := newPlace(t)
	p.lease(agent.Spec{ID: "ann", Dir: p.repo}, 1)
	p.hooks[worktreeCreate] = []string{"mkdir ../area && cd ../area && pwd"}
	p.lease(agent.Spec{ID: "ben", Dir: p.repo}, 1)
	repo, err := worktree.Open(t.Context(), p.repo, worktree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.dirs().List(t.Context(), repo)
	if err != nil || len(all) != 2 || all[0].Agent != "ann" || all[1].Agent != "ben" {
		t.Fatalf("the list is %+v, %v; want ann's and ben's", all, err)
	}
	if _, err := p.dirs().Rescue(t.Context(), repo, "ben"); err == nil || !strings.Contains(err.Error(), "made by a hook") {
		t.Errorf("the rescue of what a hook made: %v", err)
	}
	if ref, err := p.dirs().Rescue(t.Context(), repo, "carl"); err != nil || ref != "" {
		t.Errorf("the rescue for an agent without a directory: %q, %v", ref, err)
	}
}
