package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/actorswarm/swarm/internal/cli/view"
)

// labouring has five agents in the background whose commands end when the file
// "end" is there.
const labouring = `rules:
  - when: {agent: lead, text: 'start five'}
    say:
      calls:
        - &back {tool: Agent, input: {description: back, prompt: work, run_in_background: true}}
        - *back
        - *back
        - *back
        - *back
  - when: {agent: lead}
    say: {text: "Noted."}
  - when: {agent: general-purpose, step: 0}
    say: {calls: [{tool: Bash, input: {command: 'echo > ticks-$$; until test -e end; do echo tick >> ticks-$$; sleep 0.1; done; echo through'}}]}
  - when: {agent: general-purpose}
    say: {text: 'my command: {{lastResult "Bash"}}'}
`

// Whatever is done to the foreground or to the terminal, the background goes on.
func TestProblem15_EscAndCtrlCAreAddressedToOneAgent(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": labouring})
	l.needsTmux()
	l.served("--dangerously-skip-permissions")
	p := openWindow(l, 100, 30, attaching)
	p.until("one · s.yaml")
	p.types("start five")
	workers := others(l.untilSeen("five are in their commands", inCommands(5)))
	for range 3 { // one by one: together they are the beginning of another key
		p.keys("Escape")
		p.until("nothing runs in the foreground")
		p.keys("x", "BSpace")
		p.until("one · s.yaml")
	}
	p.keys("t", "e", "x", "t", "C-c")
	p.until("Ctrl-C again leaves")
	p.keys("C-c")
	p.until("session one goes on", "exit=0")
	killedTerminal(l)
	l.untilSeen("five are in their commands still", inCommands(5))
	l.progress(5)

	a, b := workers[0], workers[1]
	for _, end := range []ended{l.run("stop", a), l.run("kill", b)} {
		if end.code != 0 {
			t.Errorf("%+v", end)
		}
	}
	l.untilSeen("three are left", inCommands(3))
	l.progress(3)
	if end := l.run("send", b, "come back"); end.code == 0 {
		t.Errorf("a killed agent was written to: %+v", end)
	}
	if end := l.run("send", a, "go on"); end.code != 0 {
		t.Errorf("%+v", end)
	}
	all := l.untilSeen("the stopped one has gone on", func(all map[string]view.AgentRow) bool { return !all[a].Running && all[a].Steps > 1 })
	if end := l.run("result", a); !strings.Contains(end.out, "my command: ") {
		t.Errorf("it has forgotten its command: %+v; %+v", end, all[a])
	}
	if err := os.WriteFile(filepath.Join(l.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.untilSeen("the rest is through", inCommands(0))
	for _, name := range workers[2:] {
		if end := l.run("result", name); end.code != 0 || !strings.Contains(end.out, "through") {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

// progress waits until so many of the commands have done something after this.
func (l *lab) progress(n int) {
	l.Helper()
	ticks := func() map[string]int {
		files, err := filepath.Glob(filepath.Join(l.dir, "ticks-*"))
		if err != nil {
			l.Fatal(err)
		}
		all := map[string]int{}
		for _, f := range files {
			all[f] = len(l.lines(f))
		}
		return all
	}
	before := ticks()
	l.untilSeen("they make progress", func(map[string]view.AgentRow) bool {
		more := 0
		for f, now := range ticks() {
			if now > before[f] {
				more++
			}
		}
		return more == n
	})
}

func inCommands(n int) func(map[string]view.AgentRow) bool {
	return func(all map[string]view.AgentRow) bool {
		in := 0
		for _, a := range all {
			if a.Running && strings.Contains(a.StateText(), "Bash") {
				in++
			}
		}
		return in == n
	}
}

func others(all map[string]view.AgentRow) []string {
	var names []string
	for name := range all {
		if name != "lead" {
			names = append(names, name)
		}
	}
	return names
}

// killedTerminal attaches and dies without a word.
func killedTerminal(l *lab) {
	l.Helper()
	p := &process{l: l, cmd: l.command("attach", "one")}
	out := l.fifo("killed")
	in, err := p.cmd.StdinPipe()
	if err != nil {
		l.Fatal(err)
	}
	w, err := os.OpenFile(out, os.O_RDWR, 0)
	if err != nil {
		l.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = w, &p.err
	if err := p.cmd.Start(); err != nil {
		l.Fatal(err)
	}
	buf := make([]byte, 1)
	_, err = w.Read(buf) // it is there
	p.signal(syscall.SIGKILL)
	p.wait()
	if err := errors.Join(err, in.Close(), w.Close()); err != nil && !errors.Is(err, os.ErrClosed) {
		l.Fatal(err)
	}
}

// everyState has agents in every state that a turn can be cut in.
const everyState = `rules:
  - when: {agent: lead, text: 'make them'}
    say:
      calls:
        - {tool: Agent, input: {name: thinker, description: d, prompt: think}}
        - {tool: Agent, input: {name: runner, description: d, prompt: run}}
        - {tool: Agent, input: {name: asker, description: d, prompt: ask}}
        - {tool: Agent, input: {name: idler, description: d, prompt: rest}}
        - {tool: Agent, input: {name: waiter, description: d, prompt: wait}}
        - {tool: Agent, input: {name: parker, description: d, prompt: park}}
  - when: {agent: lead}
    say: {text: "Noted."}
  - when: {agent: runner, step: 0}
    say: {calls: [{tool: Bash, input: {command: 'sleep 300'}}]}
  - when: {agent: runner, text: 'in doubt'}
    say: {text: 'my command is in doubt'}
  - when: {agent: asker, step: 0}
    say: {calls: [{tool: Bash, input: {command: 'touch made'}}]}
  - when: {agent: asker}
    say: {text: 'I was allowed'}
  - when: {agent: idler}
    say: {text: 'idle'}
  - when: {agent: waiter, step: 0}
    say:
      calls:
        - {tool: Agent, input: {subagent_type: Explore, description: front, prompt: stay}}
        - {tool: Agent, input: {subagent_type: Explore, description: front, prompt: stay}}
  - when: {agent: parker, step: 0}
    say:
      calls:
        - {tool: Agent, input: {subagent_type: Plan, description: back, prompt: stay, run_in_background: true}}
        - {tool: Agent, input: {subagent_type: Plan, description: back, prompt: stay, run_in_background: true}}
  - when: {agent: parker}
    say: {text: 'parked'}
  - say: {text: x, stall: true}
`

// A lead, six teammates and four below them are cut, come back under their ids
// in their states, and a person joins them from one terminal and from another.
func TestProblem9_EverythingSurvivesTheDeathOfTheProcess(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": everyState})
	l.served("--allowedTools", "Bash(sleep:*)", "make them")
	states := func(all map[string]view.AgentRow) string {
		var b strings.Builder
		for _, name := range []string{"thinker", "asker", "idler", "waiter", "parker"} {
			a := all[name]
			b.WriteString(name + " " + a.State + "; ")
		}
		return b.String()
	}
	settled := func(all map[string]view.AgentRow) bool {
		stalled := 0
		for name, a := range all {
			if a.Running && a.State == "thinking" && (strings.HasPrefix(name, "explore-") || strings.HasPrefix(name, "plan-")) {
				stalled++
			}
		}
		return len(all) == 11 && stalled == 4 && all["thinker"].State == "thinking" && strings.Contains(all["asker"].StateText(), "permission") &&
			all["idler"].State == "idle" && all["waiter"].Running && !all["lead"].Running && !all["parker"].Running
	}
	before := l.untilSeen("each is in its state", func(all map[string]view.AgentRow) bool {
		return settled(all) && strings.Contains(all["runner"].StateText(), "Bash")
	})
	asked := l.run("approvals", "--format", "json").out
	if end := l.run("send", "thinker", "a word for the thinker"); end.code != 0 {
		t.Fatalf("%+v", end)
	}
	l.kill()
	again := l.run("serve", "--detach", "--resume", "one")
	if again.code != 0 {
		t.Fatalf("%+v", again)
	}
	after := l.untilSeen("all are back", func(all map[string]view.AgentRow) bool { return settled(all) && !all["runner"].Running })
	for name, was := range before {
		if is := after[name]; is.ID != was.ID || is.Role != was.Role || is.Type != was.Type {
			t.Errorf("%s was %+v and is %+v", name, was, is)
		}
	}
	if b, a := states(before), states(after); b != a {
		t.Errorf("the states were\n%s\nand are\n%s", b, a)
	}
	if now := l.run("approvals", "--format", "json").out; now == "" || id8(now) != id8(asked) {
		t.Errorf("asked was %s and is %s", asked, now)
	}
	if end := l.run("result", "runner"); end.out != "my command is in doubt\n" {
		t.Errorf("the cut command: %+v", end)
	}
	l.untilSeen("the message is there once", func(all map[string]view.AgentRow) bool {
		return all["thinker"].Unread+strings.Count(l.run("logs", "thinker").out, "a word for the thinker") == 1
	})

	p := openWindow(l, 100, 30, attaching)
	p.until("? asker asks: ", "touch made")
	p.keys("C-d")
	p.until("session one goes on", "exit=0")
	q := openWindow(&lab{T: t, dir: subDir(t, l), env: l.env}, 100, 30, "swarm attach --dir "+l.dir+" one")
	q.until("? asker asks: ", "touch made")
	q.types("y")
	q.until("touch made · allowed", "asker     idle")
	if _, err := os.Stat(filepath.Join(l.dir, "made")); err != nil {
		t.Error(err)
	}
}

// id8 is the id in the first question of a list.
func id8(list string) string {
	_, rest, _ := strings.Cut(list, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// What is typed last before the terminal is left goes on without it.
func TestDetachHandsTheSessionOver(t *testing.T) {
	t.Parallel()
	l := newConversation(t)
	l.needsTmux()
	p := openWindow(l, 80, 24, talking)
	p.until("one · s.yaml")
	p.types("start them")
	p.until("● lead", "waiting for child", "● explore-", "● plan-")
	before := l.untilSeen("four are at work", fourRun)
	p.types("/detach")
	p.until("session one goes on without a terminal; come back with: swarm attach one", "exit=0")
	l.Cleanup(func() { l.run("quit", "one") })
	after := l.untilSeen("all go on", fourRun)
	if record := strings.Join(l.lines(l.one(".home/.swarm/projects/*/one/session.json")), " "); !strings.Contains(record, `"mode": "bypassPermissions"`) {
		t.Errorf("the mode has changed: %s", record)
	}
	for name, was := range before {
		if is := after[name]; is.ID != was.ID || is.Running != was.Running {
			t.Errorf("%s was %+v and is %+v", name, was, is)
		}
	}
	q := openWindow(&lab{T: t, dir: subDir(t, l), env: l.env}, 80, 24, "swarm attach --dir "+l.dir+" one")
	q.until("session one goes on", "● lead", "● explore-", "● plan-")
	q.keys("Escape")
	q.untilIt("without the foreground", func(s string) bool { return strings.Contains(s, "interrupted") && len(live(s)) == 2 })
	q.types("/detach")
	q.until("session one goes on; come back", "exit=0")
}

func fourRun(all map[string]view.AgentRow) bool {
	n := 0
	for _, a := range all {
		if a.Running {
			n++
		}
	}
	return n == 4
}

const headless = `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - &child {tool: Agent, input: {subagent_type: Explore, description: d, prompt: quick, run_in_background: true}}
        - *child
        - *child
        - *child
        - *child
        - *child
        - *child
        - {tool: Agent, input: {subagent_type: Explore, description: d, prompt: slow, run_in_background: true}}
        - {tool: Agent, input: {subagent_type: Explore, description: d, prompt: fail, run_in_background: true}}
        - {tool: Agent, input: {subagent_type: Explore, description: d, prompt: hang, run_in_background: true}}
  - when: {agent: lead}
    say: {text: 'heard of the ends'}
  - when: {agent: Explore, text: '^fail'}
    say: {error: {status: 400, message: broken}}
  - when: {agent: Explore, text: '^hang'}
    say: {text: x, stall: true}
  - when: {agent: Explore, text: '^slow'}
    say: {text: 'slow is through', delay: 1}
  - when: {agent: Explore}
    say: {text: 'quick is through'}
`

// Without a terminal a run ends when the last child has, and it does end.
func TestProblem34_AHeadlessRunEndsAfterItsChildrenAndDoesEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": headless})
	end := l.run("run", "--session-id", "one", "--output-format", "json", "--model", "script:s.yaml", "--start-timeout", "2s", "--gap-timeout", "2s", "go")
	if end.code != 0 || !strings.Contains(end.out, `"result":"heard of the ends"`) {
		t.Errorf("%+v", end)
	}
	var told struct {
		Agents []struct{ Outcome string }
	}
	if err := json.Unmarshal([]byte(end.out), &told); err != nil {
		t.Fatal(err)
	}
	inResult := map[string]int{}
	for _, a := range told.Agents {
		inResult[a.Outcome]++
	}
	outcomes := map[string]int{}
	for name, a := range l.seen() {
		if name != "lead" {
			outcomes[a.State]++
		}
		if a.Running {
			t.Errorf("%s was left: %+v", name, a)
		}
	}
	if outcomes["completed"] != 8 || outcomes["failed"] != 1 || outcomes["timed_out"] != 1 {
		t.Errorf("the ends are %v", outcomes)
	}
	if !maps.Equal(outcomes, inResult) {
		t.Errorf("the result tells of the ends %v, they were %v", inResult, outcomes)
	}
	noneLeftOf(t, l)
}
