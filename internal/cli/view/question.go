package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
)

// maxQuestionLines is how many lines of a question are shown.
const maxQuestionLines = 12

// WriteQuestion writes a question of an agent, its id first.
func WriteQuestion(b *strings.Builder, s cli.Screen, q swarm.Question, session string, now time.Time) {
	line := func(text string) { fmt.Fprintln(b, term.Cut(term.Clean(text), s.Width())) }
	head := fmt.Sprintf("%-8s  %s%s  ", q.ID, AgentLabel(q.Agent), session)
	line(head + q.Summary)
	const inset = "          "
	if text := FullText(q, s.Width()-term.Width(term.Clean(head))); text != "" {
		for _, part := range term.Fold(term.CleanLines(text), max(20, s.Width()-len(inset))) {
			fmt.Fprintln(b, strings.TrimRight(inset+part, " "))
		}
	}
	broken := func(text string) {
		for _, part := range term.Wrap(term.Clean(text), max(20, s.Width()-len(inset)), maxQuestionLines) {
			line(inset + part)
		}
	}
	for i, c := range q.Choices {
		if len(q.Choices) > 1 || c.Question != q.Summary || term.Width(term.Clean(head+q.Summary)) > s.Width() {
			broken(c.Question)
		}
		for n, o := range c.Options {
			line(fmt.Sprintf("%s%d %s  %s", inset, n+1, o.Label, o.Description))
		}
		if q.Choices[i].MultiSelect {
			line(inset + "several may be chosen")
		}
	}
	broken(q.Reason)
	if len(q.Rules) > 0 {
		line(inset + "always: " + strings.Join(q.Rules, ", "))
	}
	age := "asked " + duration(now.Sub(q.Asked)) + " ago"
	if !q.Expires.IsZero() {
		age += ", expires in " + duration(q.Expires.Sub(now))
	}
	line(inset + age)
}

// FullText returns the plan, the command or the change of a file that needs consent,
// unless its summary in so many columns is all of it.
func FullText(q swarm.Question, columns int) string {
	var in struct {
		Plan    string `json:"plan"`
		Command string `json:"command"`
		Content string `json:"content"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
	}
	if q.Kind != event.AsksPermission || json.Unmarshal(q.Input, &in) != nil {
		return ""
	}
	if text := strings.TrimSpace(cmp.Or(in.Plan, in.Command)); text != "" {
		if strings.HasSuffix(q.Summary, " "+text) && term.Width(q.Summary) <= columns {
			return ""
		}
		return text
	}
	return strings.TrimSuffix(markLines("- ", in.Old)+markLines("+ ", in.New)+markLines("+ ", in.Content), "\n")
}

// markLines returns the text with a mark before each line.
func markLines(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark) + "\n"
}
