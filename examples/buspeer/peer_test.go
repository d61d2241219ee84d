package buspeer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
)

// lead makes two tasks, and ends the script when both are reported.
const lead = `
rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: TaskCreate, input: {subject: count lines of a.txt}}
        - {tool: TaskCreate, input: {subject: count lines of b.txt}}
  - when: {agent: lead, if: '{{if and (grep "a.txt has 2 lines" (mail "bob")) (grep "b.txt has 3 lines" (mail "bob")) (not (results "SendMessage"))}}both{{end}}'}
    say: {calls: [{tool: SendMessage, input: {to: bob, message: stop, summary: stop}}]}
  - say: {text: ok}
`

func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("the command %s is not here", tool)
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAShellScriptIsATeammate(t *testing.T) {
	need(t, "nats")
	need(t, "jq")
	dir, state := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "1\n2\n")
	write(t, filepath.Join(dir, "b.txt"), "1\n2\n3\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := swarm.Open(ctx, swarm.Options{
		Dir: dir, StateDir: state, Home: state, Model: "script:" + write(t, filepath.Join(state, "s.yaml"), lead),
		Listen: "127.0.0.1:0", Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for bus := (swarm.BusState{}); bus.URL == ""; { // it listens soon
		if bus, err = s.Bus().State(); err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
	}
	bob, err := s.Bus().AddUser("bob")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Say("go"); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("peer.sh")
	if err != nil {
		t.Fatal(err)
	}
	heard := s.Events()
	defer heard.Close()
	cmd := exec.CommandContext(ctx, "sh", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SWARM_URL="+bob.URL, "SWARM_SESSION="+s.ID(), "SWARM_NAME=bob",
		"SWARM_KEY="+write(t, filepath.Join(state, "bob.nk"), bob.Seed), "HOME="+state)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "did task") != 2 {
		t.Fatalf("the script said %s, %v", out, err)
	}
	tasks, err := s.Tasks(ctx)
	if err != nil || len(tasks) != 2 || tasks[0].Owner != "bob" || tasks[1].Status != "completed" {
		t.Errorf("the tasks are %+v, %v", tasks, err)
	}
	for mails := 0; mails < 2; {
		e, err := heard.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Fact.(event.MailArrived); ok && m.Envelope.FromName == "bob" {
			mails++
		}
	}
}

// No example sends beyond this machine.
func TestTheScriptKeepsToThisMachine(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "peer.sh")
	cmd.Env = append(os.Environ(), "SWARM_URL=nats://192.0.2.1:4222")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "not of this machine") {
		t.Errorf("the script said %s, %v", out, err)
	}
}
