package swarm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
)

// TestTheSettingsSayWhereTeammatesRun, unless an option or the environment does.
func TestTheSettingsSayWhereTeammatesRun(t *testing.T) {
	place := func(home, project, local, option string, env map[string]string) (agent.Place, []string) {
		t.Helper()
		dir := t.TempDir()
		o := Options{
			Dir: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home"), StateDir: filepath.Join(dir, "state"), TeammateMode: option,
			Getenv: func(name string) string { return env[name] },
		}
		for path, mode := range map[string]string{
			filepath.Join(o.Home, ".claude/settings.json"): home, filepath.Join(o.Dir, ".claude/settings.json"): project,
			filepath.Join(o.Dir, ".claude/settings.local.json"): local,
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if mode != "" {
				if err := os.WriteFile(path, []byte(`{"teammateMode": `+mode+`}`), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.opts.Policy.Where, s.Problems()
	}
	const process, tmux, inside = `"process"`, `"tmux"`, `"in-process"`
	inTmux := map[string]string{"TMUX": "/tmp/tmux,1,0", "TMUX_PANE": "%0"}
	for _, c := range []struct {
		home, project, local, option string
		env                          map[string]string
		want                         agent.Place
	}{
		{"", "", "", "", nil, ""},
		{process, "", "", "", nil, agent.InProcess},
		{process, inside, "", "", nil, ""},
		{inside, inside, process, "", nil, agent.InProcess},
		{process, process, process, "in-process", nil, ""},
		{tmux, "", "", "", map[string]string{"SWARM_TEAMMATE_MODE": "process"}, agent.InProcess},
		{`"auto"`, "", "", "", inTmux, agent.InTmux},
		{`"auto"`, "", "", "", nil, ""},
	} {
		if got, problems := place(c.home, c.project, c.local, c.option, c.env); got != c.want {
			t.Errorf("%+v: %q; %v", c, got, problems)
		}
	}
	for _, wrong := range []string{`"beside"`, `7`} {
		got, problems := place(process, "", wrong, "", nil)
		if got != agent.InProcess || !strings.Contains(strings.Join(problems, "\n"), "settings.local.json: teammateMode") {
			t.Errorf("%s: %q; %q", wrong, got, problems)
		}
	}
}

// repository makes the directory of a session a git repository.
func repository(t *testing.T) func(*Options) {
	return func(o *Options) {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "s.yaml"}, {"-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "-m", "first"}} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir = o.Dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
	}
}

// TestAnIsolatedTeammateHasAProcessOfItsOwn and its worktree there; what it wrote is
// kept at its end, and what is untouched is given back, also when the process hangs.
func TestAnIsolatedTeammateHasAProcessOfItsOwn(t *testing.T) {
	s := apart(t, "", `  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Agent, input: {name: ann, description: d, prompt: begin, isolation: worktree}}
        - {tool: Agent, input: {name: ben, description: d, prompt: begin, isolation: worktree}}
        - {tool: Agent, input: {name: cat, description: d, prompt: begin, isolation: worktree}}
  - when: {agent: ann, step: 0}
    say: {calls: [{tool: Write, input: {file_path: new.txt, content: x}}]}
  - say: {text: ok}
`, repository(t))
	if _, err := s.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	all := map[string]agent.Record{}
	for _, name := range []string{"ann", "ben", "cat"} {
		a, err := s.roster.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		coordinatortest.Eventually(t, name+" rests", func() bool { return a.Record().Result == "ok" && !a.Record().TurnOpen })
		all[name] = a.Record()
		if l := a.Record(); l.Spec.Where != agent.InProcess || !strings.HasPrefix(l.Spec.Dir, filepath.Join(s.Info().Path, "worktrees")+"/") || !isDir(l.Spec.Dir) {
			t.Errorf("%s runs in %q at %s", name, l.Spec.Where, l.Spec.Dir)
		}
	}
	cat := s.fleet.Process(all["cat"].Spec.ID)
	if err := syscall.Kill(cat.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		if d, err := s.Shutdown(t.Context(), name, 0); err != nil || !d.Gone {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	for name, l := range all {
		a, _ := s.store.Get(l.Spec.ID)
		kept := a.Record().KeptDir
		if wrote := name == "ann"; isDir(l.Spec.Dir) != wrote || (kept != nil) != wrote {
			t.Errorf("%s: kept %+v, its directory is there: %t", name, kept, isDir(l.Spec.Dir))
		}
	}
	if _, err := os.Stat(filepath.Join(all["ann"].Spec.Dir, "new.txt")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.Info().Dir, "new.txt")); err == nil {
		t.Error("it wrote into the session's directory")
	}
	if left := processes(t, s.opts.StateDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// TestAnIsolatedTeammateComesBack to a worktree of its own after it was stopped.
func TestAnIsolatedTeammateComesBack(t *testing.T) {
	s, ben := apartWith(t, ", isolation: worktree", `  - when: {agent: ben, text: again}
    say: {text: 'here again'}
  - say: {text: ok}
`, repository(t))
	coordinatortest.Eventually(t, "it rests", func() bool { return ben.Record().Result == "ok" && !ben.Record().TurnOpen })
	if err := s.Stop(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	if isDir(ben.Spec().Dir) {
		t.Error("its directory was not given back")
	}
	if _, err := s.Send("ben", "again"); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "it works again", func() bool { return ben.Record().Result == "here again" })
	if !isDir(ben.Spec().Dir) {
		t.Error("it has no directory")
	}
}

// TestProcessesGoWithAServerOfOthers: mail between them goes over that server, and
// what only the owner decides over the owner's socket.
func TestProcessesGoWithAServerOfOthers(t *testing.T) {
	server := natsdtest.Start(t, natsdtest.Options{})
	s, ben := apartWith(t, ", mode: plan", planner+"  - say: {text: ok}\n", func(o *Options) { o.NATS = NATS{URL: server.URL} })
	coordinatortest.Eventually(t, "the plan is shown", func() bool { return ben.Record().Plan.ID != "" && !ben.Record().TurnOpen })
	coordinatortest.Eventually(t, "the lead has the plan", func() bool {
		for _, m := range mailTo(t, s, "lead") {
			if m.Envelope.From.Agent == ben.ID() {
				return true
			}
		}
		return false
	})
	if d, err := s.Shutdown(t.Context(), "ben", 0); err != nil || !d.Gone {
		t.Fatalf("%+v, %v", d, err)
	}
	if left := processes(t, s.opts.StateDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}
