package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/term"
)

// What the program is told besides keys.
type (
	happened  struct{ event event.Event }
	ended     struct{} // no more events come
	interrupt struct{} // a signal that counts as Ctrl-C
	printed   struct{}
	look      struct { // a look at the session
		rows      []Row
		questions []Question
	}
	again   struct{} // it is time for that look
	tick    struct{} // time goes by for those who work
	noticed string   // shown below the input; leaves no trace
	done    struct {
		text    string
		painted bool // text is clean and as wide as it may be
		beside  bool // it was not waited for
		err     error
	}
)

// screen is the whole state of what is drawn. Only the program's loop changes it.
type screen struct {
	doer
	ctx     context.Context
	input   textarea.Model
	history *history

	width, height int
	canvas        *canvas // nil where nothing is drawn
	prints        int     // how often something was printed above the view

	rows      []Row
	questions []Question
	whole     string // the question that was printed in full
	begun     string // the question that came while a line was being typed
	looking   bool   // a look is under way or planned
	ticking   bool   // a tick is planned

	replies replies
	stream  strings.Builder // what the lead has said of an answer so far
	out     []string        // finished lines that wait to be printed
	moving  bool            // some are being printed, or nothing has been drawn yet

	waiting []action // what was typed and not done yet, in order
	busy    bool     // the first of them is being done
	notice  string   // one line below the input, until the next key
	armed   bool     // Ctrl-C was pressed and nothing since
	leaving bool
	detach  bool // what is left is to go on by itself
}

// prompt stands before the first line of the input.
const prompt = "› "

// most is the largest number of rows that the input takes on the screen, and
// maxRows the one that it can hold.
const (
	most    = 6
	maxRows = 10_000
)

func newScreen(ctx context.Context, s Session, o Options, h *history) *screen {
	in := textarea.New()
	in.ShowLineNumbers, in.CharLimit, in.MaxHeight, in.MaxContentHeight = false, 0, most, maxRows
	in.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return prompt
		}
		return "  "
	})
	in.SetStyles(textarea.Styles{})
	in.SetVirtualCursor(false)
	in.DynamicHeight, in.MinHeight = true, 1
	in.SetHeight(1)
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	in.KeyMap.CharacterBackward = key.NewBinding(key.WithKeys("left"))
	in.Focus() // the cursor is the terminal's own: there is nothing to blink
	return &screen{doer: doer{s, o}, ctx: ctx, input: in, history: h, moving: true, replies: replies{}, width: 80, height: 24}
}

// Init implements tea.Model.
func (m *screen) Init() tea.Cmd {
	return m.look(0)
}

// Update implements tea.Model.
func (m *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	return m, tea.Batch(cmd, m.next(), m.flush())
}

func (m *screen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), max(msg.Height, 6)
		if m.canvas != nil && m.canvas.resized(msg.Width) {
			m.moving = true
		}
		m.input.SetWidth(m.width)
		m.print(m.o.Hello) // not before the width is known
		m.o.Hello = ""
	case tea.KeyPressMsg:
		m.notice = ""
		return m.key(msg)
	case tea.PasteMsg:
		m.paste(msg.Content)
	case interrupt:
		return m.ctrlC()
	case happened:
		m.see(msg.event)
		return m.look(lookSoon)
	case again:
		return m.take
	case tick:
		m.ticking = false
		return m.look(0)
	case noticed:
		m.notice = string(msg)
	case look:
		return m.looked(msg)
	case printed:
		m.moving = false
		m.prints++
	case done:
		m.busy = m.busy && msg.beside
		return m.told(msg)
	case ended:
		return m.leave()
	}
	return nil
}

func (m *screen) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return m.ctrlC()
	}
	m.armed = false
	switch name {
	case "enter":
		m.submit()
	case "esc":
		return m.escape
	case "ctrl+b":
		return m.background
	case "tab":
		m.complete()
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+d":
		if m.input.Value() == "" {
			return m.leave()
		}
		return m.edit(k)
	case "up", "ctrl+p":
		if m.input.Line() > 0 {
			return m.edit(k)
		}
		m.show(m.history.older(m.input.Value()))
	case "down", "ctrl+n":
		if m.input.Line() < m.input.LineCount()-1 {
			return m.edit(k)
		}
		m.show(m.history.newer(m.input.Value()))
	default:
		return m.edit(k)
	}
	return nil
}

// paste puts a text into the line as a whole, or not at all.
func (m *screen) paste(text string) {
	text = term.CleanLines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	if len(term.Fold(m.input.Value()+text, max(m.width-3, 1))) > maxRows/2 {
		m.notice = "the text is too long for the input; write it to a file and name the file"
		return
	}
	m.input.InsertString(text)
}

func (m *screen) edit(msg tea.Msg) (cmd tea.Cmd) {
	m.input, cmd = m.input.Update(msg)
	return cmd
}

func (m *screen) show(text string, ok bool) {
	if ok {
		m.input.SetValue(text)
	}
}

// ctrlC puts the line away, where Up finds it, or leaves at the second time.
func (m *screen) ctrlC() tea.Cmd {
	if m.armed {
		return m.leave()
	}
	m.history.keep(m.input.Value())
	m.input.Reset()
	m.armed, m.notice = true, "Ctrl-C again leaves; "+m.o.Leave
	return nil
}

// escape ends the foreground turn. The line that is being typed stays.
func (m *screen) escape() tea.Msg {
	if m.s.Interrupt() {
		return done{}
	}
	return noticed("nothing runs in the foreground; /stop NAME ends a background agent's turn")
}

func (m *screen) background() tea.Msg {
	if moved := m.s.Background(); len(moved) > 0 {
		return done{text: strings.Join(moved, ", ") + ": moved to the background"}
	}
	return noticed("the lead waits for nothing that could go to the background")
}

func (m *screen) submit() {
	text := m.input.Value()
	m.input.Reset()
	if strings.TrimSpace(text) == "" {
		m.begun = ""
		return
	}
	if err := m.history.add(text); err != nil {
		m.notice = term.Clean(err.Error())
	}
	a := parse(text, m.open(), m.o.Views)
	m.begun = ""
	switch a.(type) {
	case settle:
		m.questions = nil // the next look shows what is still asked
	case say, write, command:
		m.out = append(m.out, "")
		m.print(echo(text))
	}
	m.waiting = append(m.waiting, a)
}

// open is the question that the line answers: the oldest, unless it came when
// the line had been begun.
func (m *screen) open() *Question {
	if len(m.questions) == 0 || m.questions[0].ID == m.begun {
		return nil
	}
	return &m.questions[0]
}

// next does what was typed first and is not done yet.
func (m *screen) next() tea.Cmd {
	var begun []tea.Cmd
	for !m.busy && len(m.waiting) > 0 {
		a := m.waiting[0]
		m.waiting, m.busy = m.waiting[1:], !lasts(a)
		if lasts(a) {
			m.notice = asked
		}
		begun = append(begun, func() tea.Msg {
			text, err := m.do(m.ctx, a)
			return done{text: text, painted: m.isView(a), beside: lasts(a), err: err}
		})
	}
	return tea.Batch(begun...)
}

func (m *screen) told(d done) tea.Cmd {
	switch {
	case errors.Is(d.err, errQuit):
		return m.leave()
	case errors.Is(d.err, ErrDetached):
		m.detach = true
		return m.leave()
	case d.err != nil:
		m.print("! " + d.err.Error())
	case d.painted:
		m.put(d.text)
	default:
		m.print(d.text)
	}
	return m.look(0)
}

// leave prints what is left and ends the program; the second time it does not
// wait for the printing.
func (m *screen) leave() tea.Cmd {
	if m.leaving {
		return tea.Quit
	}
	m.leaving = true
	return nil
}

func (m *screen) complete() {
	var agents []string
	for _, r := range m.rows {
		agents = append(agents, r.Name)
	}
	text, offers := complete(m.input.Value(), agents, commandNames(m.o.Views))
	m.input.SetValue(text)
	m.notice = strings.Join(offers, "  ")
}

// see takes in what has happened.
func (m *screen) see(e event.Event) {
	if e.Agent.ID == Lead {
		m.hear(e.Fact)
	}
	m.print(m.replies.of(e))
	m.put(m.o.Lines(e))
}

// hear follows what the lead says. What was recorded is printed whole; of an
// answer that was cut, what was heard.
func (m *screen) hear(f event.Fact) {
	switch f := f.(type) {
	case event.Delta:
		if !f.Thinking {
			m.stream.WriteString(f.Text)
		}
	case event.Answered:
		m.stream.Reset()
		m.print(f.Answer.Text())
	case event.BackingOff, event.Preempted:
		m.stream.Reset() // the answer begins anew
	case event.TurnEnded:
		m.print(m.stream.String())
		m.stream.Reset()
	}
}

// print puts text above what is drawn, broken at the width of the screen.
func (m *screen) print(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	text = strings.Trim(strings.TrimRight(term.CleanLines(text), " \n"), "\n")
	m.out = append(m.out, term.Fold(text, m.width)...)
}

// put is print for what is clean and broken already.
func (m *screen) put(text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		m.out = append(m.out, strings.Split(text, "\n")...)
	}
}

// flush prints what waits, one batch after another so that the order stays, and
// ends the program when nothing is left of a session that is being left.
func (m *screen) flush() tea.Cmd {
	if m.moving {
		return nil
	}
	if len(m.out) == 0 {
		if m.leaving {
			return tea.Quit
		}
		return nil
	}
	// More than is free above the view would push parts of the view into the
	// terminal's scrollback.
	n := min(len(m.out), max(m.height/3, 1))
	text := strings.Join(m.out[:n], "\n")
	m.out, m.moving = m.out[n:], true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}

// How soon after an event, and how often while somebody works, the session is
// looked at.
const (
	lookSoon  = 100 * time.Millisecond
	lookAgain = time.Second
)

// look plans a look at the session.
func (m *screen) look(in time.Duration) tea.Cmd {
	if m.looking {
		return nil
	}
	m.looking = true
	return tea.Tick(in, func(time.Time) tea.Msg { return again{} })
}

// showWhole prints what is asked about before it is asked, once: the view has no room
// for a plan or a long command.
func (m *screen) showWhole(q Question) {
	if q.Whole == "" || q.ID == m.whole {
		return
	}
	m.whole = q.ID
	m.out = append(m.out, "")
	m.print(whole(q))
}

func (m *screen) take() tea.Msg { return look{m.s.Agents(), m.s.Questions()} }

func (m *screen) looked(l look) tea.Cmd {
	m.looking = false
	fresh := len(l.questions) > 0 && (len(m.questions) == 0 || m.questions[0].ID != l.questions[0].ID)
	m.rows, m.questions = l.rows, l.questions
	if fresh {
		m.showWhole(m.questions[0])
	}
	if fresh && m.input.Value() != "" {
		m.begun = m.questions[0].ID
	}
	if m.ticking || !slices.ContainsFunc(m.rows, func(r Row) bool { return r.Working }) {
		return nil
	}
	m.ticking = true
	return tea.Tick(lookAgain, func(time.Time) tea.Msg { return tick{} })
}
