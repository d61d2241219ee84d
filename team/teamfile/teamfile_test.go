package teamfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/defs"
)

const whole1 = `name: review
description: Reviews a change
members:
  - quick
  - name: security
    type: security-reviewer
    prompt: Read the change
    model: sonnet
    effort: high
    mode: plan
    color: red
    cwd: services
    plan_mode_required: true
    max_turns: 40
    restart: {on_failure: {max: 2, within: 30m}}
    budget: {usd: 2.50, tokens: 1_000_000, requests: 200, time: 2h}
  - name: tests
    worktree: true
    restart: on_failure
  - agent: ann
tasks:
  - read the change
  - {key: fix, subject: fix it, description: all of it, writes: true, owner: tests, after: ["1"]}
`

func TestAFileIsReadWhole(t *testing.T) {
	got, err := Parse("x/review.yaml", []byte(whole1), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Team{
		Name: "review", Description: "Reviews a change", Path: "x/review.yaml",
		Members: []Member{
			{Name: "quick", Line: 4},
			{
				Name: "security", Line: 5, Type: "security-reviewer", Prompt: "Read the change", Model: "sonnet", Effort: "high", Mode: "plan", Color: "red",
				Cwd: "services", PlanRequired: true, MaxTurns: 40, Restarts: 2, Within: 30 * time.Minute,
			},
			{Name: "tests", Line: 17, Worktree: true, Restarts: 3},
			{Name: "ann", Line: 20, Agent: "ann"},
		},
		Tasks: []Task{
			{Key: "1", Subject: "read the change"},
			{Key: "fix", Subject: "fix it", Description: "all of it", Writes: true, Owner: "tests", After: []string{"1"}},
		},
	}
	want.Members[1].Budget.Money, want.Members[1].Budget.Tokens = 5*budget.Dollar/2, 1_000_000
	want.Members[1].Budget.Requests, want.Members[1].Budget.Time = 200, 2*time.Hour
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A file is taken whole or not at all.
func TestEverythingWrongIsToldAtOnceWithItsLine(t *testing.T) {
	src := `name: a/b
members:
  - name: team-lead
  - {name: x, colour: red, mode: fast, max_turns: 0}
  - {name: X, worktree: maybe, restart: always}
  - {name: y, worktree: true, cwd: z, budget: {usd: much}}
  - {agent: ann, model: sonnet}
  - {name: z, leads: nobody}
tasks:
  - {description: no subject}
  - {subject: s, after: [later]}
`
	_, err := Parse("t.yaml", []byte(src), nil)
	want := []string{
		`t.yaml:3: the member's name, "team-lead", has a meaning of its own; choose another`,
		`t.yaml:4: a member has no "colour"; it has agent, budget, color, cwd, effort, leads, max_turns, mode, model, name, plan_mode_required, prompt, restart, type, worktree`,
		`t.yaml:4: mode is "fast"; use default, acceptEdits, plan, auto, dontAsk, bypassPermissions`,
		`t.yaml:4: a whole number from 1 up is expected, not "0"`,
		`t.yaml:5: true or false is expected, not "maybe"`,
		`t.yaml:5: restart is "always"; use never, on_failure, or on_failure: with max and within`,
		`t.yaml:5: two members are named "X"; the other is in line 4`,
		`t.yaml:6: an amount of dollars such as 2.50 is expected, not "much"`,
		`t.yaml:6: worktree gives y a directory of its own: leave out cwd or worktree`,
		`t.yaml:7: agent: ann is there already and keeps what it is; leave out everything but leads`,
		`t.yaml:8: team nobody cannot be found from here`,
		`t.yaml:10: the task has no subject: say in a few words what is to be done`,
		`t.yaml:11: the task waits for "later", which no task before it has as its key`,
		`t.yaml:1: the name of the team, "a/b", may hold letters, digits, dots, dashes and underscores only`,
	}
	if err == nil {
		t.Fatal("it is accepted")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestTheOwnerOfATaskIsInTheTeam(t *testing.T) {
	src := `tasks:
  - {subject: a, owner: nobody}
  - {subject: b, owner: Ann}
  - {subject: c, owner: team-lead}
members: [ann, ben]
`
	_, err := Parse("t.yaml", []byte(src), nil)
	if want := `t.yaml:2: the owner "nobody" is not in the team; name one of team-lead, ann, ben`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	src = strings.Replace(src, "ben]", "{agent: nobody}]", 1)
	if _, err := Parse("t.yaml", []byte(src), nil); err != nil {
		t.Errorf("an agent of the session as owner: %v", err)
	}
}

func TestAFileWithoutATeamIsRefused(t *testing.T) {
	for src, want := range map[string]string{
		"": "the file is empty", "# nothing": "the file is empty", "members: []": "has no members", "- a": "must be written as key: value",
		"members: a": "members must be a list", "a: [": "t.yaml: line 1: a value is expected", "members: [a]\nmembers: [b]": "given twice",
	} {
		if _, err := Parse("t.yaml", []byte(src), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, want %s", src, err, want)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Nearer files win.
func TestTheProjectsFileWinsOverTheUsers(t *testing.T) {
	root := t.TempDir()
	home, repo := filepath.Join(root, "home"), filepath.Join(root, "repo")
	p := Place{Dir: filepath.Join(repo, "sub"), Home: home}
	put(t, filepath.Join(repo, ".git", "HEAD"), "")
	put(t, filepath.Join(root, ".claude", "teams", "outside.yaml"), "members: [x]")
	put(t, filepath.Join(home, ".claude", "teams", "a.yaml"), "members: [mine]")
	put(t, filepath.Join(home, ".claude", "teams", "b.yml"), "members: [mine]")
	put(t, filepath.Join(repo, ".claude", "teams", "a.yaml"), "members: [project]")
	put(t, filepath.Join(repo, "sub", "own.yaml"), "members: [{name: x, leads: a}]")
	for name, want := range map[string]string{"a": "project", "b": "mine", "own.yaml": "x", "./own.yaml": "x"} {
		if got, err := p.Load(name); err != nil || got.Members[0].Name != want {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
	if got, err := p.Load("own.yaml"); err != nil || got.Members[0].Leads.Members[0].Name != "project" {
		t.Errorf("what x leads is %+v, %v", got, err)
	}
	_, err := p.Load("outside")
	e := &NotFoundError{}
	if !errors.As(err, &e) || !slices.Equal(e.Known, []string{"a", "b"}) {
		t.Errorf("outside is %v", err)
	}
}

func TestATeamThatLeadsItselfIsRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".git", "HEAD"), "")
	put(t, filepath.Join(dir, ".claude", "teams", "a.yaml"), "members: [{name: x, leads: b}]")
	put(t, filepath.Join(dir, ".claude", "teams", "b.yaml"), "members: [{name: y, leads: a}]")
	if _, err := (Place{Dir: dir}).Load("a"); err == nil || !strings.Contains(err.Error(), "leads itself") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPipeIsNoTeamFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Place{Dir: filepath.Dir(path)}).Load(path); !errors.Is(err, defs.ErrNotRegular) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole1))
	f.Add([]byte("members: &a [*a]"))
	f.Add([]byte("members: [{budget: {usd: 9e99}, <<: {name: x}}]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		team, err := Parse("t.yaml", src, nil)
		if err != nil {
			return
		}
		if len(team.Members) == 0 || badName(team.Name) != "" {
			t.Errorf("%q gives %+v", src, team)
		}
		for _, m := range team.Members {
			if m.Agent == "" && badName(m.Name) != "" {
				t.Errorf("%q has a member %q", src, m.Name)
			}
		}
	})
}
