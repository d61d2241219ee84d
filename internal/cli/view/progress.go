package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// progress writes one line for each step of an agent; only failures may take more. It
// is used by one goroutine.
type progress struct {
	cli.Screen
	dir     string // paths below it are shortened
	verbose bool

	steps  map[mailbox.AgentID]*step
	denied map[string]bool       // calls whose refusal has been shown
	sent   map[mailbox.ID]string // receivers of messages, by name
	labels map[mailbox.AgentID]string
}

// step collects the calls of one answer until all of them have a result.
type step struct {
	open int
	done []string
}

func NewProgress(s cli.Screen, dir string, verbose bool) *progress {
	return &progress{
		Screen: s, dir: dir, verbose: verbose,
		steps: map[mailbox.AgentID]*step{}, denied: map[string]bool{}, sent: map[mailbox.ID]string{},
		labels: map[mailbox.AgentID]string{},
	}
}

// Handle writes the lines for e, if any.
func (p *progress) Handle(e event.Event) {
	p.labels[e.Agent.ID] = AgentLabel(e.Agent)
	switch f := e.Fact.(type) {
	case event.Started:
		p.line(e.Agent, started(e.Agent, f))
	case event.StateChanged:
		if f.To == "queued" || f.To == "parked" || f.To == "stuck" {
			p.line(e.Agent, Join(f.To, f.Reason))
		}
	case event.Answered:
		p.answered(e.Agent, f)
	case event.CallStarted:
		if p.verbose {
			p.line(e.Agent, describeCall(f.Call, p.dir))
			p.text(compact(f.Call.Input))
		}
	case event.CallFinished:
		p.finished(e.Agent, f)
	case event.Denied:
		p.denied[f.Call.ID] = true
		p.lines(e.Agent, term.Cut(term.Clean(describeCall(f.Call, p.dir)), maxCall)+" · denied: "+f.Reason)
	case event.Judged:
		// A denied call has a line of its own.
		if report := f.Call.Name == ""; report && f.Verdict != "allow" || p.verbose && (report || f.Verdict != "deny") {
			p.lines(e.Agent, JudgedLine(f, p.dir))
		}
	case event.Asked:
		p.lines(e.Agent, AskedLine(f.Question))
	case event.BackingOff:
		p.lines(e.Agent, backingOff(f.Backoff))
	case event.Preempted:
		p.lines(e.Agent, "is cut by a control message")
	case event.Compacted:
		p.lines(e.Agent, compacted(f))
	case event.MailSent, event.MailArrived, event.MailStateChanged:
		p.mail(e.Agent, f)
	case event.TurnEnded:
		p.ended(e.Agent, f)
	case event.Hint:
		p.lines(e.Agent, f.Text)
	case event.Warning:
		p.lines(e.Agent, "warning: "+f.Text)
	}
}

// JudgedLine is the line for what a model has made of a call or a report.
func JudgedLine(f event.Judged, dir string) string {
	what := "its report"
	if f.Call.Name != "" {
		what = term.Cut(term.Clean(describeCall(f.Call, dir)), maxCall)
	}
	verdict := map[string]string{"allow": "allowed", "deny": "denied", "": "not decided"}[f.Verdict]
	return what + " · " + verdict + " by the model that judges: " + term.Clean(f.Reason)
}

func compacted(f event.Compacted) string {
	if f.Failed != "" {
		return "its conversation was not compacted: " + TrimPackage(f.Failed)
	}
	return fmt.Sprintf("compacted its conversation of %s tokens in %s", number(f.Tokens), duration(f.Took))
}

func started(a event.Agent, f event.Started) string {
	what := "started"
	if f.Resumed {
		what = "goes on"
	}
	if name := strings.ToLower(AgentLabel(a)); name != strings.ToLower(a.Type) && !strings.HasPrefix(name, strings.ToLower(a.Type)+"-") {
		what += " as " + a.Type
	}
	return Join(what, cmp.Or(f.Task, FirstLine(f.Prompt)))
}

// AskedLine describes an open question, and the command that answers it.
func AskedLine(q event.Question) string {
	verb, what := "allow", "asks to run "+q.Summary
	switch {
	case q.Kind == event.AsksAnswer:
		verb, what = "answer", "asks: "+q.Summary
	case q.Tool == "ExitPlanMode":
		what = "asks to approve " + q.Summary
	}
	return term.Cut(term.Clean(what), maxCall) + " · swarm approvals " + verb + " " + q.ID
}

func backingOff(b model.Backoff) string {
	text := "waits " + duration(b.Delay)
	if b.Attempt > 0 && b.MaxAttempts > 0 {
		text += fmt.Sprintf(" (attempt %d of %d)", b.Attempt, b.MaxAttempts)
	}
	return text + ": " + TrimPackage(b.Reason)
}

// TrimPackage removes the name of the package from the text of an error.
func TrimPackage(text string) string { return strings.TrimPrefix(text, "model: ") }

func (p *progress) answered(a event.Agent, f event.Answered) {
	p.flush(a) // a crash may have left calls without a result
	calls := f.Answer.Calls()
	p.steps[a.ID] = &step{open: len(calls)}
	if p.verbose && f.Answer.Text() != "" {
		p.line(a, "says")
		p.text(f.Answer.Text())
	}
}

func (p *progress) finished(a event.Agent, f event.CallFinished) {
	s := p.steps[a.ID]
	if s == nil {
		s = &step{open: 1} // a call that was cut and went on
		p.steps[a.ID] = s
	}
	s.open--
	if !p.isShownElsewhere(f) {
		s.done = append(s.done, describeCall(f.Call, p.dir)+" · "+describeResult(f))
		if p.verbose {
			p.flush(a)
			p.text(f.Text)
		}
	}
	if s.open <= 0 {
		p.flush(a)
	}
}

// isShownElsewhere reports whether another line shows the call: the message that was
// sent, the agent that was started.
func (p *progress) isShownElsewhere(f event.CallFinished) bool {
	if p.denied[f.Call.ID] {
		delete(p.denied, f.Call.ID)
		return true
	}
	switch f.Call.Name {
	case "SendMessage", "Agent", "Task":
		return !f.IsError
	}
	return false
}

func (p *progress) flush(a event.Agent) {
	if s := p.steps[a.ID]; s != nil && len(s.done) > 0 {
		p.line(a, strings.Join(s.done, "; "))
		s.done = nil
	}
}

func (p *progress) mail(a event.Agent, f event.Fact) {
	switch f := f.(type) {
	case event.MailSent:
		e := f.Envelope
		to := p.labelOf(e.To.Agent, e.ToName)
		p.sent[e.ID] = to
		p.line(a, "→ "+to+": "+cmp.Or(e.Summary, FirstLine(e.Body)))
	case event.MailArrived:
		if e := f.Envelope; p.verbose {
			p.line(a, "← "+p.labelOf(e.From.Agent, e.FromName))
			p.text(e.Body)
		}
	case event.MailStateChanged:
		for _, id := range f.IDs {
			p.receipt(a, id, f.State)
		}
	}
}

func (p *progress) receipt(a event.Agent, id mailbox.ID, state mailbox.State) {
	if state.Final() {
		if state != mailbox.StateAnswered {
			p.lines(a, fmt.Sprintf("warning: the message %s to %s was not read: %s", id, cmp.Or(p.sent[id], "another agent"), state))
		}
		delete(p.sent, id)
	}
}

func (p *progress) ended(a event.Agent, f event.TurnEnded) {
	p.flush(a)
	what := "idle" // it can work again
	switch {
	case f.Outcome == "completed" && a.Name == string(a.ID):
		what = "done" // an agent without a name has one task
	case f.Outcome != "completed":
		what = strings.ReplaceAll(f.Outcome, "_", " ")
	}
	text := what + " · " + Plural(f.Steps, "step") + " · " + tokens(f.Usage) + " tokens"
	if f.Reason != "" {
		text += " · " + strings.TrimPrefix(TrimPackage(f.Reason), what+": ")
	}
	p.lines(a, text)
}

// line writes one line about an agent, cut to the width of the screen.
func (p *progress) line(a event.Agent, text string) { p.write(a, text, 1) }

// lines writes a text that is not cut.
func (p *progress) lines(a event.Agent, text string) { p.write(a, text, MaxLines) }

func (p *progress) write(a event.Agent, text string, most int) {
	name := term.Clean(AgentLabel(a))
	pad := strings.Repeat(" ", max(0, nameWidth-term.Width(name))+2)
	room := max(10, p.Width()-term.Width(name)-len(pad))
	shown := []string{term.Cut(term.Clean(text), room)}
	if most > 1 {
		shown = term.Wrap(term.Clean(text), room, most)
	}
	indent := "\n" + strings.Repeat(" ", term.Width(name)+len(pad))
	fmt.Fprintf(p.Out, "%s%s%s\n", p.Paint(name, a.Color), pad, strings.Join(shown, indent))
}

// nameWidth is the width of the column of short names.
const nameWidth = 8

// maxLines is how many lines a reason may take, and maxCall how many columns the call.
const (
	MaxLines = 8
	maxCall  = 60
)

// maxTextLines is how many lines of a text --verbose shows.
const maxTextLines = 40

func (p *progress) text(text string) {
	lines := strings.Split(strings.Trim(strings.TrimRight(term.CleanLines(text), " \n"), "\n"), "\n")
	for i, line := range lines {
		if i == maxTextLines {
			fmt.Fprintf(p.Out, "    … %s more\n", Plural(len(lines)-i, "line"))
			return
		}
		fmt.Fprintf(p.Out, "    %s\n", line)
	}
}

// AgentLabel returns the name of an agent for people.
func AgentLabel(a event.Agent) string { return AgentName(a.ID, a.Name) }

// labelOf returns the name of an agent that a message has, for people.
func (p *progress) labelOf(id mailbox.AgentID, name string) string {
	return cmp.Or(p.labels[id], AgentName(id, name))
}

func AgentName(id mailbox.AgentID, name string) string {
	if id == agent.LeadID {
		return "lead"
	}
	return cmp.Or(name, string(id))
}

func Join(what, detail string) string {
	if detail == "" {
		return what
	}
	return what + " · " + detail
}
