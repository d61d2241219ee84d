package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/actorswarm/swarm/internal/term"
)

// View implements tea.Model. It shows the lead's current answer, a line for each agent
// at work, the open question, the input and a line of help.
func (m *screen) View() tea.View {
	if m.leaving {
		return tea.NewView(" ") // one line: the renderer leaves parts of a frame that shrinks to nothing
	}
	above := []string{""} // separates the view from the lines printed above
	above = append(above, m.streamLines()...)
	above = append(above, m.agentLines()...)
	above = append(above, m.questionLines()...)
	// A third of the screen stays free for the lines printed above.
	if room := m.height - m.height/3 - m.input.Height() - 1; len(above) > room {
		above = above[len(above)-max(room, 0):]
	}
	v := tea.NewView(strings.Join(append(above, m.input.View(), m.footer()), "\n"))
	if c := m.input.Cursor(); c != nil {
		c.Y += len(above)
		v.Cursor = c
	}
	return v
}

// streamLines returns the end of the lead's current answer.
func (m *screen) streamLines() []string {
	text := m.stream.String()
	if text == "" {
		return nil
	}
	rows := max(m.height/4, 2)
	text = text[max(0, len(text)-rows*m.width*4):]
	lines := term.Fold(strings.TrimRight(term.CleanLines(text), " \n"), m.width)
	return append(lines[max(0, len(lines)-rows):], "")
}

// agentLines returns a line for each agent that works, and the number of agents at
// rest.
func (m *screen) agentLines() []string {
	var lines []string
	resting, column := 0, m.nameColumn()
	for _, r := range m.rows {
		switch {
		case r.Working:
			lines = append(lines, m.agentLine(r, column))
		case !r.Ended && r.ID != Lead:
			resting++
		}
	}
	if rows := max(m.height/4, 2); len(lines) > rows {
		more := len(lines) - rows + 1
		lines = append(lines[:rows-1], fmt.Sprintf("  … %d more at work; /ps shows all", more))
	}
	if resting > 0 {
		lines = append(lines, term.Cut(fmt.Sprintf("  %d at rest; /ps shows them", resting), m.width))
	}
	return lines
}

// nameWidth is the least width of the column of names.
const nameWidth = 12

// nameColumn returns the width of the column of names.
func (m *screen) nameColumn() int {
	wide := nameWidth
	for _, r := range m.rows {
		if r.Working {
			wide = max(wide, term.Width(m.agentName(r)))
		}
	}
	return wide
}

func (m *screen) agentName(r Row) string { return term.Cut(term.Clean(r.Name), m.width/2) }

func (m *screen) agentLine(r Row, column int) string {
	name := m.agentName(r)
	pad := strings.Repeat(" ", column-term.Width(name)+2)
	about := r.State + " " + age(time.Since(r.Since))
	if r.Extra != "" {
		about += " · " + r.Extra
	}
	room := max(m.width-2-term.Width(name)-len(pad), 1)
	return "● " + m.options.Paint(name, r.Color) + pad + term.Cut(term.Clean(about), room)
}

// age formats a duration in a few columns.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// questionLines shows the open question.
func (m *screen) questionLines() []string {
	if len(m.questions) == 0 {
		return nil
	}
	q := m.questions[0]
	name := term.Clean(q.Agent)
	lines := term.Fold("? "+name+" asks: "+term.CleanLines(q.Text), m.width)
	if len(lines) > maxInputRows {
		lines = append(lines[:maxInputRows-1], "  …")
	}
	lines[0] = strings.Replace(lines[0], name, m.options.Paint(name, q.Color), 1)
	how := answerHelp(q)
	if q.ID == m.lateQuestion {
		how = append(how[:len(how)-1], "your line was begun before this: send it first, then answer")
	}
	if more := len(m.questions) - 1; more > 0 {
		how[len(how)-1] += fmt.Sprintf(" · %d more after this", more)
	}
	for _, line := range how {
		lines = append(lines, "  "+term.Cut(term.Clean(line), m.width-2))
	}
	return lines
}

// fullText returns the subject of a question in full.
func fullText(q Question) string {
	var b strings.Builder
	b.WriteString(q.Agent + " asks about:")
	for line := range strings.SplitSeq(term.CleanLines(q.FullText), "\n") {
		b.WriteString("\n" + strings.TrimRight("  "+line, " "))
	}
	return b.String()
}

// answerHelp returns why a question is asked and, in the last line, how to answer it.
func answerHelp(q Question) []string {
	var lines []string
	if q.Reason != "" {
		lines = append(lines, q.Reason)
	}
	for i, c := range q.Choices {
		lines = append(lines, fmt.Sprintf("%d %s", i+1, c))
	}
	switch {
	case q.Consent && q.Always != "":
		lines = append(lines, "a would allow from now on: "+cmp.Or(q.Means, q.Always), "y yes · n no (n TEXT says why) · a always, in this session")
	case q.Consent:
		lines = append(lines, "y yes · n no (n TEXT says why)")
	case q.Several:
		lines = append(lines, "answer with a number, several (1,2), or a text")
	case len(q.Choices) > 0:
		lines = append(lines, "answer with a number or a text")
	default:
		lines = append(lines, "what you write next is the answer")
	}
	return lines
}

// footer returns the line below the input.
func (m *screen) footer() string {
	if m.notice != "" {
		return term.Cut(term.Clean(m.notice), m.width)
	}
	parts := []string{shortID(m.options.Session)}
	for _, r := range m.rows {
		if r.ID == Lead {
			parts = append(parts, r.Model[strings.LastIndexByte(r.Model, '/')+1:])
		}
	}
	text := strings.Join(append(parts, m.options.Mode), " · ")
	for _, hint := range []string{"/help", "Esc ends the turn", "Ctrl-B to background"} {
		if longer := text + " · " + hint; term.Width(longer) <= m.width {
			text = longer
		}
	}
	return term.Cut(term.Clean(text), m.width)
}

// shortID returns as much of a session's id as commands need.
func shortID(id string) string { return id[:min(8, len(id))] }
