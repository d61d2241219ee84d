package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/cli/view"
)

// conversation has a lead that starts agents who never end by themselves.
const conversation = `rules:
  - when: {agent: lead, text: 'start them'}
    say:
      text: I start four.
      calls:
        - {tool: Agent, input: {subagent_type: general-purpose, description: front, prompt: stay}}
        - {tool: Agent, input: {subagent_type: Explore, description: back, prompt: stay, run_in_background: true}}
        - {tool: Agent, input: {subagent_type: Plan, description: back, prompt: stay, run_in_background: true}}
        - {tool: Agent, input: {name: bob, description: mate, prompt: get ready}}
  - when: {agent: lead, text: 'one more'}
    say: {calls: [{tool: Agent, input: {subagent_type: general-purpose, description: front, prompt: stay}}]}
  - when: {agent: lead, text: 'run it'}
    say: {calls: [{tool: Bash, input: {command: 'echo $$ > started; read -r line < hold; echo "$line" > ended'}}]}
  - when: {agent: lead, text: 'think'}
    say: {text: hm, stall: true}
  - when: {agent: lead, after: Agent}
    say: {text: "The work goes on behind."}
  - when: {agent: lead, after: Bash}
    say: {text: "The command goes on behind."}
  - when: {agent: lead, text: 'hello'}
    say: {text: "Hello to you."}
  - when: {agent: lead}
    say: {text: "Noted."}
  - when: {agent: bob, text: 'are you there'}
    say: {text: "I am here."}
  - when: {agent: bob}
    say: {text: "Ready."}
  - say: {text: x, stall: true}
`

func newConversation(t *testing.T) *lab {
	return newLab(t, map[string]string{"s.yaml": conversation})
}

const talking = "swarm --model script:s.yaml --dangerously-skip-permissions --session-id one"

// A person starts a foreground and background agents, interrupts, moves work to
// the background, talks to an agent by name, leaves and comes back.
func TestTheInteractiveSession(t *testing.T) {
	t.Parallel()
	p := openWindow(newConversation(t), 80, 24, talking+"; read -r _; swarm resume one")
	p.until("session one\n", "Write to the lead", "›", "one · s.yaml")

	p.types("start them")
	screen := p.until("I start four.", "● lead", "waiting for child", "● general-purpose-", "● explore-", "● plan-", "1 at rest")
	if n := len(live(screen)); n != 4 {
		t.Errorf("%d agents at work:\n%s", n, screen)
	}

	p.keys("Escape")
	screen = p.untilIt("without the foreground", func(s string) bool {
		return strings.Contains(s, "lead      interrupted") && len(live(s)) == 2
	})
	if !liveOf(screen, "explore-") || !liveOf(screen, "plan-") {
		t.Errorf("other agents than those in the background are left:\n%s", screen)
	}
	p.keys("Escape")
	p.until("nothing runs in the foreground")
	p.keys("Escape")
	p.keys("x", "BSpace") // takes the notice away, so that the next is a new one
	p.until("one · s.yaml")
	p.keys("Escape")
	screen = p.until("nothing runs in the foreground")
	if n := len(live(screen)); n != 2 || working(p.lab) != 2 {
		t.Errorf("%d agents at work, and %d as another process sees it:\n%s", n, working(p.lab), screen)
	}

	p.types("one more")
	p.until("● lead", "waiting for child", "● general-purpose-")
	p.keys("C-b")
	screen = p.until("moved to the background", "The work goes on behind.", "● general-purpose-", "· background")
	if liveOf(screen, "lead") {
		p.untilIt("with a lead at rest", func(s string) bool { return !liveOf(s, "lead") })
	}

	p.keys("@bo", "Tab")
	p.types("are you there?")
	p.until("› @bob are you there?", "sent to bob", "bob: I am here.", "Noted.")
	p.types("@bbo hi")
	p.until(`! there is no agent named "bbo"; did you mean bob`)

	p.types("/quit")
	p.until("go on with: swarm resume one")
	if left := len(live(p.screen())); left != 0 {
		t.Errorf("lines of agents are left:\n%s", p.screen())
	}
	p.keys("Enter")
	p.until("session one goes on", "› one more", "Noted.", "● explore-", "● plan-", "● general-purpose-")
	p.types("hello")
	p.until("› hello", "Hello to you.")
	p.leave()
}

// leave ends swarm and waits for its end.
func (p *window) leave() {
	p.Helper()
	p.keys("C-c")
	p.until("Ctrl-C again leaves")
	p.keys("C-c")
	p.until("exit=0")
}

// working counts who is at work, as another process sees it.
func working(l *lab) int {
	l.Helper()
	end := l.run("ps", "one", "--format", "json")
	var s struct{ Agents []view.AgentRow }
	if err := json.Unmarshal([]byte(end.out), &s); err != nil {
		l.Fatalf("%v: %+v", err, end)
	}
	n := 0
	for _, a := range s.Agents {
		if a.Running {
			n++
		}
	}
	return n
}

// The lead's own command is moved with its output, and its shell is not lost.
func TestCtrlBMovesTheLeadsCommand(t *testing.T) {
	t.Parallel()
	l := newConversation(t)
	l.fifo("hold")
	started := l.fifo("started")
	p := openWindow(l, 120, 40, talking)
	p.until("one · s.yaml")
	p.types("run it")
	if pid := l.await(started); pid == "" {
		t.Fatal("the command has no number")
	}
	p.until("in tool Bash")
	p.keys("C-b")
	p.until("moved to the background", "The command goes on behind.")
	if err := os.WriteFile(filepath.Join(l.dir, "hold"), []byte("let go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.until("Noted.") // of the message that the command has ended
	wantLines(l, "ended", "let", "go")
	p.keys("C-d")
	p.until("exit=0")
}

// A compaction waits for the agent's next step, and nothing that is written
// after it waits for the compaction.
func TestACompactionHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"", "TERM=dumb "} {
		t.Run(as, func(t *testing.T) {
			l := newConversation(t)
			l.fifo("hold")
			started := l.fifo("started")
			p := openWindow(l, 80, 24, as+talking)
			p.until("Write to the lead")
			p.types("run it")
			if pid := l.await(started); pid == "" {
				t.Fatal("the command has no number")
			}
			p.types("/compact")
			p.until("requested; you will see when it is done")
			p.types("/ps")
			p.until("in tool Bash", "tokens $?") // in the answer to /ps
			if err := os.WriteFile(filepath.Join(l.dir, "hold"), []byte("let go\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			p.until("! there is nothing to compact", "The command goes on behind.", "lead      idle")
			p.leave()
		})
	}
}

func TestSeveralLinesPasteAndHistory(t *testing.T) {
	t.Parallel()
	p := openWindow(newConversation(t), 80, 24, talking+"; read -r _; swarm resume one")
	p.until("one · s.yaml")
	p.keys("one", "M-Enter", "two", "C-j", "three")
	p.until("› one\n  two\n  three")
	p.keys("Enter")
	p.until("Noted.")
	p.tmux("set-buffer", "pasted\nlines")
	p.tmux("paste-buffer", "-p")
	p.until("› pasted\n  lines")
	p.keys("C-c")
	p.until("Ctrl-C again")
	p.keys("Up")
	p.until("› pasted\n  lines")
	p.keys("C-c")
	p.types(" a secret")
	p.untilIt("with a second answer", func(s string) bool { return strings.Count(s, "Noted.\nlead") == 2 })
	p.keys("C-d")
	p.until("go on with")
	p.keys("Enter")
	p.until("goes on")
	p.keys("Up")
	p.until("› one\n  two\n  three\none · s.yaml") // in the input
	p.leave()
	if strings.Contains(strings.Join(p.lines(p.one(".home/.swarm/projects/*/history")), "\n"), "secret") {
		t.Error("a line that begins with a blank was kept")
	}
}

// one returns the one path that a pattern means.
func (l *lab) one(pattern string) string {
	l.Helper()
	paths, err := filepath.Glob(filepath.Join(l.dir, pattern))
	if err != nil || len(paths) != 1 {
		l.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	return paths[0]
}

func TestTheSessionFollowsTheWidth(t *testing.T) {
	// For each row that wraps tmux moves one out of the screen, where nothing can be
	// erased: short lines above the session are those.
	p := openWindow(newConversation(t), 80, 60, "seq 40; "+talking)
	p.until("one · s.yaml")
	p.types("start them")
	p.until("● plan-", "1 at rest")
	p.tmux("resize-window", "-x", "44", "-y", "60")
	p.untilIt("cut at the new width", func(s string) bool {
		lines := live(s)
		return len(lines) >= 4 && strings.HasSuffix(lines[len(lines)-1], "…")
	})
	p.onceEach()
	p.tmux("resize-window", "-x", "30", "-y", "60")
	p.until("bypassPermissi…")
	p.tmux("resize-window", "-x", "24", "-y", "60")
	p.until("bypassPe…") // the frame of 30 columns that tmux wraps shows more
	p.onceEach()
	p.tmux("resize-window", "-x", "44", "-y", "60")
	p.types("/ps")
	p.until("└ ")
	p.types("/team")
	p.until("team session-one\n    lead ")
	p.tmux("resize-window", "-x", "120", "-y", "60")
	p.until("Ctrl-B to background")
	p.leave()
}

// onceEach checks that nothing of the live part has stayed behind in what is printed.
func (p *window) onceEach() {
	p.Helper()
	all := p.all()
	seen := map[string]bool{}
	for _, line := range live(all) {
		name := strings.Fields(line)[1]
		if i := strings.IndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		if seen[name] {
			p.Errorf("%s is there twice:\n%s", name, all)
		}
		seen[name] = true
	}
}

// What is printed above leaves the cursor where one types.
func TestTheCursorStaysInTheInput(t *testing.T) {
	t.Parallel()
	p := openWindow(newConversation(t), 80, 24, talking)
	p.until("one · s.yaml")
	p.types("/ps")
	p.until("0 steps")
	p.untilIt("with the cursor in the input", func(screen string) bool {
		var x, y int
		if _, err := fmt.Sscanf(p.tmux("display-message", "-p", "#{cursor_x} #{cursor_y}"), "%d %d", &x, &y); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(screen, "\n")
		return y < len(lines) && x == 2 && lines[y] == "›"
	})
	p.leave()
}

func TestWithoutColourTheSessionPaintsNothing(t *testing.T) {
	t.Parallel()
	l := newConversation(t)
	p := openWindow(l, 80, 24, "NO_COLOR=1 "+talking)
	p.until("one · s.yaml")
	p.types("start them")
	p.until("● plan-")
	if raw := p.tmux("capture-pane", "-e", "-p"); strings.Contains(raw, "\x1b[3") {
		t.Errorf("colours in:\n%q", raw)
	}
	p.keys("C-d")
	p.until("exit=0")
}

// On a terminal that cannot move its cursor lines are read and written.
func TestADumbTerminalGetsLines(t *testing.T) {
	t.Parallel()
	p := openWindow(newConversation(t), 80, 24, "TERM=dumb "+talking)
	p.until("Write to the lead")
	p.types("start them")
	p.until("I start four.", "plan-")
	p.keys("C-c")
	p.until("lead      interrupted")
	p.types("/ps")
	p.until(" explore-", "thinking")
	p.types("@bob are you there?")
	p.until("sent to bob", "bob: I am here.")
	p.keys("C-c")
	p.until("Ctrl-C again leaves")
	p.keys("C-c")
	p.until("go on with: swarm resume one", "exit=0")
	if strings.Contains(p.tmux("capture-pane", "-e", "-p"), "\x1b[") {
		t.Error("the lines hold escape sequences")
	}
}

// A user who leaves without a prompt leaves no session.
func TestLeavingAtOnceKeepsNoSession(t *testing.T) {
	t.Parallel()
	p := openWindow(newConversation(t), 80, 24, talking)
	p.until("one · s.yaml")
	p.keys("C-d")
	screen := p.until("exit=0")
	if strings.Contains(screen, "swarm resume") {
		t.Errorf("there is nothing to go on with:\n%s", screen)
	}
	if end := p.run("ps"); !strings.Contains(end.err, "no session has been started here yet") {
		t.Errorf("%+v", end)
	}
}

func TestResumePrintsOnATerminalToo(t *testing.T) {
	t.Parallel()
	p := openWindow(newConversation(t), 80, 24, "swarm run --model script:s.yaml --session-id one hello; swarm resume one -p")
	p.until("exit=0")
	if n := strings.Count(p.all(), "Hello to you."); n != 2 {
		t.Errorf("the answer stands there %d times:\n%s", n, p.all())
	}
}

func TestWithoutATerminalSwarmAloneHelps(t *testing.T) {
	t.Parallel()
	end := newConversation(t).run()
	if end.code != 0 || !strings.Contains(end.out, "Usage:") {
		t.Errorf("%+v", end)
	}
}

// A question of an agent's own is answered in place too.
func TestAQuestionIsAnsweredInPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - tool: AskUserQuestion
          input: {questions: [{question: "Which database?", header: DB, multiSelect: false, options: [{label: Postgres, description: large}, {label: SQLite, description: small}]}]}
  - when: {agent: lead, after: AskUserQuestion}
    say: {text: 'You said {{lastResult "AskUserQuestion" | lines | tail 1 | join ""}}.'}
`})
	p := openWindow(l, 120, 40, "swarm --model script:s.yaml --session-id one")
	p.until("one · s.yaml")
	p.types("go")
	p.until("● lead", "? lead asks: Which database?", "1 Postgres · large", "2 SQLite · small", "answer with a number")
	p.types("2")
	p.until("answered: SQLite", "You said   SQLite.")
	p.leave()
	if all := p.all(); strings.Contains(all, "? lead asks") || len(live(all)) > 0 {
		t.Errorf("something of what was drawn is left:\n%s", all)
	}
}

const permitting = `rules:
  - when: {agent: lead, text: 'ask'}
    say: {calls: [{tool: Agent, input: {name: bob, description: d, prompt: write it}}]}
  - when: {agent: bob, step: 0}
    say:
      calls:
        - {tool: Bash, input: {command: 'touch first'}}
        - {tool: Bash, input: {command: 'touch second'}}
  - when: {agent: bob}
    say: {text: 'bob saw: {{lastResult "Bash"}}'}
  - say: {text: "Noted."}
`

// A question is put in place with the name of who asks; a line that was begun
// before is not its answer.
func TestPermissionIsAskedForInPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": permitting})
	p := openWindow(l, 80, 24, "swarm --model script:s.yaml --session-id one")
	p.until("one · s.yaml · default")
	p.types("ask")
	p.until("? bob asks: ", "touch first", "y yes · n no")
	p.types("y")
	p.until("touch first · allowed", "? bob asks: Bash touch second")
	p.types("n not today")
	p.until("touch second · refused", "bob       idle")
	if _, err := os.Stat(filepath.Join(l.dir, "first")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "second")); err == nil {
		t.Error("the refused command ran")
	}
	p.types("@bob what did you see?")
	p.until("bob: bob saw: ", "not today")
	p.leave()
	if all := p.all(); strings.Contains(all, "? bob asks") || len(live(all)) > 0 {
		t.Errorf("something of what was drawn is left:\n%s", all)
	}
}

// The first start in a directory asks about what it would run, and records the answer.
func TestAStartAsksOnceWhetherADirectoryIsTrusted(t *testing.T) {
	t.Parallel()
	hook := `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran-%s"}]}]}}`
	l := newLab(t, map[string]string{"s.yaml": conversation, ".claude/settings.json": fmt.Sprintf(hook, "one")})
	const start = "clear; swarm --model script:s.yaml; echo left; read -r _; "
	p := openWindow(l, 100, 30, start+start+start+"true")
	leave := func() {
		p.types("/quit")
		p.untilIt("shows the end", func(s string) bool { return strings.HasSuffix(s, "left") })
		p.keys("Enter")
	}
	p.until("would run or allow", "touch ran-one", "let swarm do this?")
	p.types("n")
	p.until("warning: ", "Write to the lead")
	leave()
	screen := p.untilIt("shows the second start", func(s string) bool {
		return strings.Contains(s, "Write to the lead") && !strings.Contains(s, "left")
	})
	if strings.Contains(screen, "let swarm do this?") {
		t.Errorf("it was asked again:\n%s", screen)
	}
	if err := os.WriteFile(filepath.Join(l.dir, ".claude", "settings.json"), []byte(fmt.Sprintf(hook, "two")), 0o600); err != nil {
		t.Fatal(err)
	}
	leave()
	p.until("touch ran-two", "let swarm do this?")
	p.types("y")
	p.until("is trusted with what it runs now", "Write to the lead")
	p.types("hello")
	p.until("Hello to you.")
	if _, err := os.Stat(filepath.Join(l.dir, "ran-two")); err != nil {
		t.Errorf("a trusted hook did not run: %v", err)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "ran-one")); err == nil {
		t.Error("a declined hook ran")
	}
}

func TestPermissionsAreShownInTheSession(t *testing.T) {
	t.Parallel()
	p := openWindow(newConversation(t), 100, 40, talking)
	p.until("one · s.yaml")
	p.types("/permissions")
	p.until("mode bypassPermissions (session one)", "no rule is in force")
	p.types("/permissions check Bash rm -rf /")
	p.until("ask: Bash(rm -rf /)", "by critical removal")
	p.types("/permissions deny Bash")
	p.until("rules are changed by: ")
	p.leave()
}

// The first session in the mode bypassPermissions asks for consent, and later ones do not.
func TestBypassIsAgreedToOnce(t *testing.T) {
	t.Parallel()
	l := newConversation(t)
	if err := os.Remove(l.dir + "/.home/.swarm/bypass-accepted"); err != nil {
		t.Fatal(err)
	}
	p := openWindow(l, 80, 24, talking+"; echo one=$?; "+talking+"; echo two=$?; read -r _; "+talking+" --session-id two")
	p.until("without a question", "You are asked once")
	p.types("n")
	p.until("was not accepted", "one=2", "You are asked once")
	p.types("y")
	p.until("Write to the lead")
	p.types("/quit")
	p.until("two=0")
	p.keys("Enter")
	p.until("session two\n", "Write to the lead")
	p.leave()
}
