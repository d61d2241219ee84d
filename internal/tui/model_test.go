package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// fake is a session that writes down what it is asked to do.
type fake struct {
	bus event.Bus

	mu        sync.Mutex
	did       []string // guarded by mu
	works     bool
	rows      []Row
	questions []Question
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, fmt.Sprintf(format, args...))
}

func (f *fake) Events() *event.Subscription { return f.bus.Subscribe() }
func (f *fake) Begin() error                { return nil }
func (f *fake) Say(text string) error       { f.note("say %s", text); return nil }

func (f *fake) Send(to, text string) ([]string, error) {
	if to == "nobody" {
		return nil, errors.New("there is no agent named \"nobody\"")
	}
	f.note("send %s %s", to, text)
	return []string{to}, nil
}

func (f *fake) InterruptAgent(name string) (bool, error) {
	f.note("interrupt %s", name)
	return name == "bob", nil
}

func (f *fake) Interrupt() bool {
	f.note("interrupt")
	was := f.works
	f.works = false
	return was
}

func (f *fake) Background() []string       { f.note("background"); return []string{"explore-1"} }
func (f *fake) Agents() []Row              { return f.rows }
func (f *fake) SetModel(name string) error { f.note("model %s", name); return nil }

func (f *fake) Compact(_ context.Context, name string) error { f.note("compact %s", name); return nil }
func (f *fake) Stop(_ context.Context, name string) error    { f.note("stop %s", name); return nil }
func (f *fake) Questions() []Question                        { return f.questions }

func (f *fake) Answer(id string, a Answer) error {
	f.note("answer %s %t %t %q", id, a.Allow, a.Always, a.Note)
	f.questions = slices.DeleteFunc(f.questions, func(q Question) bool { return q.ID == id })
	return nil
}

// driver drives a screen without a terminal: commands run at once, printed lines
// are gathered.
type driver struct {
	*testing.T
	*fake
	m       *screen
	printed []string
	quit    bool
}

func newDriver(t *testing.T, s *fake) *driver {
	t.Helper()
	h := openTest(t, "")
	o := Options{Session: "s", Paint: func(name, _ string) string { return name }, Lines: func(event.Event) string { return "" }}
	d := &driver{T: t, fake: s, m: newScreen(t.Context(), s, o, h)}
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.look()
	return d
}

func (d *driver) send(msg tea.Msg) {
	cmd := d.m.update(msg)
	d.run(cmd)
	for next := d.m.runNext(); next != nil; next = d.m.runNext() {
		d.run(next)
	}
	d.printed = append(d.printed, d.m.pending...)
	d.m.pending = nil
	d.quit = d.quit || d.m.leaving
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil || d.m.refreshing || d.m.ticking && !d.m.busy {
		return // a look or a tick that is planned; the test looks itself
	}
	if msg := cmd(); msg != nil {
		d.send(msg)
	}
}

func (d *driver) look() {
	d.m.refreshing = false
	d.m.setState(stateMsg{d.Agents(), d.Questions()})
}

func (d *driver) keys(names ...string) {
	for _, name := range names {
		key := map[string]tea.Key{
			"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
			"tab": {Code: tea.KeyTab}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+b": {Code: 'b', Mod: tea.ModCtrl},
			"ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
		}[name]
		d.send(tea.KeyPressMsg(key))
		d.m.refreshing, d.m.ticking = false, false
	}
}

func (d *driver) types(text string) {
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func (d *driver) wants(did ...string) {
	d.Helper()
	if !slices.Equal(d.did, did) {
		d.Errorf("the session did %q, want %q", d.did, did)
	}
	d.did = nil
}

// Law: Esc ends the foreground turn and nothing else, and leaves the line alone.
func TestEscEndsTheForegroundTurnAndNothingElse(t *testing.T) {
	d := newDriver(t, &fake{works: true})
	d.types("half")
	d.keys("esc", "esc", "esc")
	d.wants("interrupt", "interrupt", "interrupt")
	if d.m.input.Value() != "half" || d.quit {
		t.Errorf("the line is %q, left: %t", d.m.input.Value(), d.quit)
	}
	if !strings.Contains(d.m.notice, "nothing runs in the foreground") {
		t.Errorf("the notice is %q", d.m.notice)
	}
}

// Law: what was typed is not lost.
func TestHistoryKeepsTextThatAKeyRemoves(t *testing.T) {
	d := newDriver(t, &fake{})
	d.types("precious")
	d.keys("ctrl+d")
	d.keys("ctrl+c")
	if d.m.input.Value() != "" || d.quit {
		t.Errorf("the line is %q, left: %t", d.m.input.Value(), d.quit)
	}
	d.keys("up")
	if d.m.input.Value() != "precious" {
		t.Errorf("the line is %q", d.m.input.Value())
	}
	d.types("!")
	d.keys("up", "down", "up")
	if d.m.input.Value() != "precious!" {
		t.Errorf("after looking back the line is %q", d.m.input.Value())
	}
	d.wants()
}

func TestCtrlCTwiceLeavesAndAnotherKeyBetweenDoesNot(t *testing.T) {
	d := newDriver(t, &fake{works: true})
	d.keys("ctrl+c")
	d.types("x")
	d.keys("ctrl+c")
	if d.quit {
		t.Fatal("it left")
	}
	d.keys("ctrl+c")
	if !d.quit {
		t.Error("it stayed")
	}
	d.wants()
}

func TestLinesAreSentInTheirOrder(t *testing.T) {
	d := newDriver(t, &fake{})
	d.types("one")
	d.keys("alt+enter")
	d.types("more")
	d.keys("ctrl+j")
	d.types("and more")
	d.keys("enter")
	d.types("@bob hi")
	d.keys("enter")
	d.types("/model large")
	d.keys("enter")
	d.types("/compact bob")
	d.keys("enter")
	d.types("/stop bob")
	d.keys("enter", "ctrl+b")
	d.send(tea.PasteMsg{Content: "a\r\nb\x1b[2J\tc"})
	d.keys("enter")
	d.wants("say one\nmore\nand more", "send bob hi", "model large", "compact bob", "stop bob", "background", "say a\nb    c")
	d.types("@nobody hi")
	d.keys("enter")
	if last := d.printed[len(d.printed)-1]; !strings.HasPrefix(last, "! there is no agent") {
		t.Errorf("the last line is %q", last)
	}
	d.keys("ctrl+d")
	if !d.quit {
		t.Error("Ctrl-D on an empty line does not leave")
	}
}

// A long text goes in whole, or not at all.
func TestLongPasteIsNotCut(t *testing.T) {
	d := newDriver(t, &fake{})
	text := strings.TrimSuffix(strings.Repeat("a line of the text\n", 2000), "\n")
	d.types("see: ")
	d.send(tea.PasteMsg{Content: text})
	if rows := d.m.input.Height(); rows != maxInputRows {
		t.Errorf("the input takes %d rows", rows)
	}
	d.send(tea.PasteMsg{Content: strings.Repeat(text, 10)})
	if !strings.Contains(d.m.notice, "too long") {
		t.Errorf("the notice is %q", d.m.notice)
	}
	d.keys("enter")
	d.wants("say see: " + text)
	for range 2 * maxInputRows {
		d.types("x")
		d.keys("alt+enter")
	}
	if n := d.m.input.LineCount(); n != 2*maxInputRows+1 {
		t.Errorf("%d lines", n)
	}
}

// Law: it owns no agent.
func TestLeavingDoesNothingToAnyAgent(t *testing.T) {
	for _, keys := range [][]string{{"ctrl+c", "ctrl+c"}, {"ctrl+d"}} {
		d := newDriver(t, &fake{works: true, rows: []Row{{ID: "lead", Working: true}}})
		d.keys(keys...)
		if !d.quit {
			t.Errorf("%q does not leave", keys)
		}
		d.wants()
	}
}

func TestDetachReturnsErrDetached(t *testing.T) {
	d := newDriver(t, &fake{works: true})
	d.types("/interrupt bob")
	d.keys("enter")
	d.types("/interrupt ann")
	d.keys("enter")
	if d.quit || d.m.detach {
		t.Fatal("it left")
	}
	d.types("/detach")
	d.keys("enter")
	if !d.quit || !d.m.detach {
		t.Errorf("left %t, detached %t", d.quit, d.m.detach)
	}
	d.wants("interrupt bob", "interrupt ann")
	if all := strings.Join(d.printed, "\n"); !strings.Contains(all, "bob's turn has ended") || !strings.Contains(all, "ann is in no turn") {
		t.Errorf("printed:\n%s", all)
	}
}

// Law: consent is never an accident.
func TestLineBegunBeforeAQuestionDoesNotAnswerIt(t *testing.T) {
	d := newDriver(t, &fake{})
	d.types("y")
	d.questions = []Question{{ID: "q1", Agent: "bob", Text: "Bash git push", Consent: true}}
	d.look()
	d.keys("enter")
	d.wants("say y")
	d.look()
	d.types("n")
	d.keys("enter")
	d.wants(`answer q1 false false ""`)
}

func TestQuestionShowsTheNameOfItsAgent(t *testing.T) {
	d := newDriver(t, &fake{questions: []Question{
		{ID: "q1", Agent: "bob", Text: "Bash git push", Reason: "the mode asks", Consent: true, Always: "Bash(git push:*)", Means: "every command that begins with git push"},
		{ID: "q2", Agent: "ann", Text: "Bash rm x", Consent: true},
	}})
	view := d.m.View().Content
	for _, want := range []string{"? bob asks: Bash git push", "the mode asks", "a would allow from now on: every command that begins with git push", "1 more after this"} {
		if !strings.Contains(view, want) {
			t.Errorf("no %q in:\n%s", want, view)
		}
	}
	d.types("a")
	d.keys("enter")
	d.look()
	if view := d.m.View().Content; !strings.Contains(view, "? ann asks: Bash rm x") {
		t.Errorf("the view is:\n%s", view)
	}
	d.types("n use trash instead")
	d.keys("enter")
	d.wants(`answer q1 true true ""`, `answer q2 false false "use trash instead"`)
	if got := strings.Join(d.printed, "\n"); !strings.Contains(got, "bob · Bash git push · allowed, from now on Bash(git push:*)") {
		t.Errorf("printed:\n%s", got)
	}
}

// Law: consent is never an accident.
func TestCallThatNeedsConsentIsPrintedInFullOnce(t *testing.T) {
	d := newDriver(t, &fake{questions: []Question{
		{ID: "q1", Agent: "ann", Text: "the plan: one two", FullText: "one\n\ntwo\x1b[2J", Consent: true},
		{ID: "q2", Agent: "bob", Text: "Bash make", Consent: true},
	}})
	for range 3 {
		d.send(noticeMsg(""))
		d.look()
	}
	d.types("y")
	d.keys("enter")
	d.look()
	if got, want := strings.Join(d.printed, "\n"), "ann asks about:\n  one\n\n  two"; strings.Count(got, want) != 1 || strings.Contains(got, "bob asks about") {
		t.Errorf("printed:\n%s", got)
	}
	d.wants(`answer q1 true false ""`)
}

func TestHelpForSeveralChoices(t *testing.T) {
	q := Question{ID: "q1", Agent: "bob", Text: "Which?", Choices: []string{"red", "blue"}}
	for several, want := range map[bool]string{false: "answer with a number or a text", true: "answer with a number, several (1,2), or a text"} {
		q.Several = several
		d := newDriver(t, &fake{questions: []Question{q}})
		if view := d.m.View().Content; !strings.Contains(view, want) {
			t.Errorf("no %q in:\n%s", want, view)
		}
	}
}

func happen(d *driver, id string, f event.Fact) {
	d.send(eventMsg{event.Event{Agent: event.Agent{ID: mailbox.AgentID(id), Name: id}, Fact: f}})
	d.m.refreshing = false
}

func said(text string) event.Answered {
	return event.Answered{Answer: &model.Answer{Message: model.AssistantMessage(model.Text(text))}}
}

// Law: what agents write is cleaned before it is shown.
func TestOutputOfAgentsIsCleaned(t *testing.T) {
	d := newDriver(t, &fake{rows: []Row{{ID: "x", Name: "x\x1b[2J", State: "\x1b]0;t\aworks", Working: true}}})
	d.questions = []Question{{ID: "q", Agent: "\x1b[31mbob", Text: "rm\x1b[2K", Reason: "\u202ewhy"}}
	d.look()
	happen(d, "lead", event.Delta{Text: "stream\x1b[2J"})
	view := d.m.View().Content
	happen(d, "lead", said("all \x1b[31mred"))
	if all := view + strings.Join(d.printed, "\n"); strings.ContainsAny(all, "\x1b\u202e\a") {
		t.Errorf("something acts on the terminal: %q", all)
	}
	if !strings.Contains(view, "stream") || !slices.Contains(d.printed, "all red") {
		t.Errorf("view %q, printed %q", view, d.printed)
	}
}

func TestTheViewKeepsTheWidthAndLeavesRoom(t *testing.T) {
	var rows []Row
	for i := range 50 {
		rows = append(rows, Row{ID: mailbox.AgentID(fmt.Sprint("general-purpose-", i)), Name: fmt.Sprint("general-purpose-", i), State: "in tool Bash", Extra: "background", Working: true})
	}
	d := newDriver(t, &fake{rows: rows, questions: []Question{{ID: "q", Agent: "bob", Text: strings.Repeat("long ", 300), Consent: true}}})
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 30, Height: 10}} {
		d.send(size)
		happen(d, "lead", event.Delta{Text: strings.Repeat("日本語 words ", 500)})
		lines := strings.Split(d.m.View().Content, "\n")
		if most := size.Height - size.Height/3; len(lines) > most {
			t.Errorf("%+v: %d lines, at most %d leave room for what is printed", size, len(lines), most)
		}
		for _, line := range lines {
			if n := columns(t, line); n > size.Width {
				t.Errorf("%+v: %d columns: %q", size, n, line)
			}
		}
	}
}

// columns counts what a terminal needs for a line of the characters that the test
// above puts into the view, and of those that the view adds.
func columns(t *testing.T, line string) (n int) {
	t.Helper()
	for _, r := range line {
		switch {
		case r >= ' ' && r <= '~' || strings.ContainsRune("…·●›", r):
			n++
		case strings.ContainsRune("日本語", r):
			n += 2
		default:
			t.Fatalf("the width of %q is not known: %q", r, line)
		}
	}
	return n
}

// The texts of agents that the user sees: the lead always, others once they were written to.
func TestReplyToTheUserIsShown(t *testing.T) {
	d := newDriver(t, &fake{})
	happen(d, "bob", said("to myself"))
	happen(d, "user", event.MailSent{Envelope: mailbox.Envelope{To: mailbox.Address{Agent: "bob"}}})
	happen(d, "bob", said("hello"))
	happen(d, "bob", event.TurnEnded{})
	happen(d, "bob", said("again to myself"))
	happen(d, "lead", event.Delta{Text: "cut o"})
	happen(d, "lead", event.TurnEnded{Outcome: "interrupted"})
	if want := []string{"bob: hello", "cut o"}; !slices.Equal(d.printed, want) {
		t.Errorf("printed %q, want %q", d.printed, want)
	}
}
