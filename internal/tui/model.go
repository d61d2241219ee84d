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

// The messages of the program besides keys.
type (
	eventMsg     struct{ event event.Event }
	endedMsg     struct{} // no more events come
	interruptMsg struct{} // a signal that counts as Ctrl-C
	stateMsg     struct { // the state of the session
		rows      []Row
		questions []Question
	}
	refreshMsg struct{} // the state is to be fetched
	tickMsg    struct{} // the durations shown must be updated
	noticeMsg  string   // shown below the input until the next key
	doneMsg    struct {
		text       string
		styled     bool // text is clean and wrapped
		concurrent bool // other actions did not wait for it
		err        error
	}
)

// screen is the state of the terminal. Only the program's loop changes it.
type screen struct {
	runner
	ctx     context.Context
	input   textarea.Model
	history *history

	width, height int
	canvas        *canvas // nil if nothing is drawn

	rows            []Row
	questions       []Question
	printedQuestion string // id of the question that was printed in full
	lateQuestion    string // id of the question that came while a line was being typed
	refreshing      bool   // the state is being fetched, or that is planned
	ticking         bool   // a tickMsg is planned

	replies replies
	stream  strings.Builder // the part of the lead's current answer that has arrived
	pending []string        // finished lines that are to be printed

	actions []action // requested actions that are not done, in order
	busy    bool     // the first of them is running
	notice  string   // one line below the input, until the next key
	armed   bool     // the last key was Ctrl-C
	greeted bool     // the first lines have been printed
	leaving bool
	detach  bool // the session continues without a terminal
}

// prompt precedes the first line of the input.
const prompt = "› "

// maxInputRows is the largest number of rows that the input takes on the screen, and
// maxInputLines the largest number of lines that it can hold.
const (
	maxInputRows  = 6
	maxInputLines = 10_000
)

func newScreen(ctx context.Context, s Session, o Options, h *history) *screen {
	in := textarea.New()
	in.ShowLineNumbers, in.CharLimit, in.MaxHeight, in.MaxContentHeight = false, 0, maxInputRows, maxInputLines
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
	return &screen{runner: runner{s, o}, ctx: ctx, input: in, history: h, replies: replies{}, width: 80, height: 24}
}

// Init implements tea.Model.
func (m *screen) Init() tea.Cmd {
	return m.scheduleRefresh(0)
}

// Update implements tea.Model.
func (m *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	return m, tea.Batch(cmd, m.runNext(), m.flush())
}

func (m *screen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), max(msg.Height, 6)
		if m.canvas != nil {
			m.canvas.resized(msg.Width, msg.Height)
		}
		m.input.SetWidth(m.width)
		m.greet() // not before the width is known
	case tea.KeyPressMsg:
		m.notice = ""
		return m.key(msg)
	case tea.PasteMsg:
		m.paste(msg.Content)
	case interruptMsg:
		return m.ctrlC()
	case eventMsg:
		m.handleEvent(msg.event)
		return m.scheduleRefresh(refreshDelay)
	case refreshMsg:
		return m.fetchState
	case tickMsg:
		m.ticking = false
		return m.scheduleRefresh(0)
	case noticeMsg:
		m.notice = string(msg)
	case stateMsg:
		return m.setState(msg)
	case doneMsg:
		m.busy = m.busy && msg.concurrent
		return m.actionDone(msg)
	case endedMsg:
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

// paste inserts a text as a whole, or not at all.
func (m *screen) paste(text string) {
	text = term.CleanLines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	if len(term.Fold(m.input.Value()+text, max(m.width-3, 1))) > maxInputLines/2 {
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

// ctrlC clears the input, which the history keeps, or leaves at the second time.
func (m *screen) ctrlC() tea.Cmd {
	if m.armed {
		return m.leave()
	}
	m.history.remember(m.input.Value())
	m.input.Reset()
	m.armed, m.notice = true, "Ctrl-C again leaves; "+m.options.Leave
	return nil
}

// escape ends the foreground turn. It does not change the input.
func (m *screen) escape() tea.Msg {
	if m.session.Interrupt() {
		return doneMsg{}
	}
	return noticeMsg("nothing runs in the foreground; /stop NAME ends a background agent's turn")
}

func (m *screen) background() tea.Msg {
	if moved := m.session.Background(); len(moved) > 0 {
		return doneMsg{text: strings.Join(moved, ", ") + ": moved to the background"}
	}
	return noticeMsg("the lead waits for nothing that could go to the background")
}

func (m *screen) submit() {
	text := m.input.Value()
	m.input.Reset()
	if strings.TrimSpace(text) == "" {
		m.lateQuestion = ""
		return
	}
	if err := m.history.add(text); err != nil {
		m.notice = term.Clean(err.Error())
	}
	a := parse(text, m.openQuestion(), m.options.Views)
	m.lateQuestion = ""
	switch a.(type) {
	case answerQuestion:
		m.questions = nil // the next refresh returns the ones that are still open
	case sendLead, sendAgent, command:
		m.pending = append(m.pending, "")
		m.print(echo(text))
	}
	m.actions = append(m.actions, a)
}

// openQuestion returns the question that the input answers: the oldest one, unless it
// came after the input had been begun.
func (m *screen) openQuestion() *Question {
	if len(m.questions) == 0 || m.questions[0].ID == m.lateQuestion {
		return nil
	}
	return &m.questions[0]
}

// runNext runs the first action if none is running.
func (m *screen) runNext() tea.Cmd {
	var begun []tea.Cmd
	for !m.busy && len(m.actions) > 0 {
		a := m.actions[0]
		m.actions, m.busy = m.actions[1:], !isLong(a)
		if isLong(a) {
			m.notice = startedNotice
		}
		begun = append(begun, func() tea.Msg {
			text, err := m.do(m.ctx, a)
			return doneMsg{text: text, styled: m.isView(a), concurrent: isLong(a), err: err}
		})
	}
	return tea.Batch(begun...)
}

func (m *screen) actionDone(d doneMsg) tea.Cmd {
	switch {
	case errors.Is(d.err, errQuit):
		return m.leave()
	case errors.Is(d.err, ErrDetached):
		m.detach = true
		return m.leave()
	case d.err != nil:
		m.print("! " + d.err.Error())
	case d.styled:
		m.queue(d.text)
	default:
		m.print(d.text)
	}
	return m.scheduleRefresh(0)
}

// leave prints the pending lines and ends the program.
func (m *screen) leave() tea.Cmd {
	m.leaving = true
	return nil
}

func (m *screen) complete() {
	var agents []string
	for _, r := range m.rows {
		agents = append(agents, r.Name)
	}
	text, offers := complete(m.input.Value(), agents, commandNames(m.options.Views))
	m.input.SetValue(text)
	m.notice = strings.Join(offers, "  ")
}

// handleEvent updates the state after an event.
func (m *screen) handleEvent(e event.Event) {
	if e.Agent.ID == Lead {
		m.streamLead(e.Fact)
	}
	m.print(m.replies.of(e))
	m.queue(m.options.Lines(e))
}

// streamLead follows the lead's answers. It prints a recorded answer as a whole, and of
// an answer that was cut off the part that arrived.
func (m *screen) streamLead(f event.Fact) {
	switch f := f.(type) {
	case event.Delta:
		if !f.Thinking {
			m.stream.WriteString(f.Text)
		}
	case event.Answered:
		m.stream.Reset()
		m.print(f.Answer.Text())
	case event.BackingOff, event.Preempted:
		m.stream.Reset() // the answer is streamed again
	case event.TurnEnded:
		m.print(m.stream.String())
		m.stream.Reset()
	}
}

// greet prints the first lines of the session, once.
func (m *screen) greet() {
	if !m.greeted {
		m.greeted = true
		m.print(m.options.Hello)
	}
}

// print queues text to be printed above the view, wrapped at the width of the screen.
func (m *screen) print(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	text = strings.Trim(strings.TrimRight(term.CleanLines(text), " \n"), "\n")
	m.pending = append(m.pending, term.Fold(text, m.width)...)
}

// queue is print for text that is clean and wrapped.
func (m *screen) queue(text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		m.pending = append(m.pending, strings.Split(text, "\n")...)
	}
}

// flush prints pending lines, and ends the program when the user is leaving.
func (m *screen) flush() tea.Cmd {
	if m.canvas != nil && len(m.pending) > 0 {
		m.canvas.print(m.pending)
		m.pending = nil
	}
	if m.leaving {
		return tea.Quit
	}
	return nil
}

// refreshDelay is the time between an event and the refresh after it, tickInterval
// the time between refreshes while an agent works.
const (
	refreshDelay = 100 * time.Millisecond
	tickInterval = time.Second
)

// scheduleRefresh plans to fetch the state of the session.
func (m *screen) scheduleRefresh(in time.Duration) tea.Cmd {
	if m.refreshing {
		return nil
	}
	m.refreshing = true
	return tea.Tick(in, func(time.Time) tea.Msg { return refreshMsg{} })
}

// printQuestion prints a question in full before it is asked, once: the view has no
// room for a plan or a long command.
func (m *screen) printQuestion(q Question) {
	if q.FullText == "" || q.ID == m.printedQuestion {
		return
	}
	m.printedQuestion = q.ID
	m.pending = append(m.pending, "")
	m.print(fullText(q))
}

func (m *screen) fetchState() tea.Msg { return stateMsg{m.session.Agents(), m.session.Questions()} }

func (m *screen) setState(l stateMsg) tea.Cmd {
	m.refreshing = false
	fresh := len(l.questions) > 0 && (len(m.questions) == 0 || m.questions[0].ID != l.questions[0].ID)
	m.rows, m.questions = l.rows, l.questions
	if fresh {
		m.printQuestion(m.questions[0])
	}
	if fresh && m.input.Value() != "" {
		m.lateQuestion = m.questions[0].ID
	}
	if m.ticking || !slices.ContainsFunc(m.rows, func(r Row) bool { return r.Working }) {
		return nil
	}
	m.ticking = true
	return tea.Tick(tickInterval, func(time.Time) tea.Msg { return tickMsg{} })
}
