package script

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/model"
)

// rule is one entry of the file.
type rule struct {
	name string
	line int
	when when
	say  say
}

func (r *rule) label() string {
	if r.name == "" {
		return fmt.Sprintf("line %d", r.line)
	}
	return fmt.Sprintf("%q (line %d)", r.name, r.line)
}

// templateError is the error of a request that ran into a failing template of the rule.
func (r *rule) templateError(err error) error {
	return &model.Error{Kind: model.Invalid, Type: "script", Message: fmt.Sprintf("rule %s: %v", r.label(), err), Err: err}
}

// when holds the conditions on a request; a condition that is not given always fits.
type when struct {
	agent string
	step  spans
	turn  spans
	text  *regexp.Regexp
	mail  *regexp.Regexp
	after string
	cond  *text // the if
}

// say is the answer.
type say struct {
	thinking *text
	text     *text
	calls    []call
	delay    time.Duration
	stall    bool
	failure  *model.Error
	repeat   int
}

type call struct {
	tool  *text
	as    string
	input *value
}

// mismatch returns why the rule does not fit, or "" if it does. The template runs
// last, since it costs most, and since it may rely on what else was asked for.
// An error is that of the template.
func (w *when) mismatch(v *view) (string, error) {
	if why := w.mismatchWithoutTemplate(v); why != "" {
		return why, nil
	}
	return w.evaluateCondition(v)
}

// evaluateCondition runs the condition. An empty list is written [], and counts as
// false for a condition that asks for a list.
func (w *when) evaluateCondition(v *view) (string, error) {
	if w.cond == nil {
		return "", nil
	}
	got, err := w.cond.run(v)
	if err != nil {
		return "", err
	}
	switch got = strings.TrimSpace(got); got {
	case "":
		return fmt.Sprintf("its if (line %d) gives nothing", w.cond.line), nil
	case "false", "0", "[]":
		return fmt.Sprintf("its if (line %d) gives %s", w.cond.line, got), nil
	}
	return "", nil
}

// mismatchWithoutTemplate returns which of the conditions without a template does not fit.
func (w *when) mismatchWithoutTemplate(v *view) string {
	switch {
	case w.agent != "" && !glob(w.agent, v.caller.Agent) && !glob(w.agent, v.caller.Type):
		return fmt.Sprintf("agent is not %s", w.agent)
	case !w.step.has(v.Step):
		return fmt.Sprintf("step is not %s", w.step)
	case !w.turn.has(v.Turn):
		return fmt.Sprintf("turn is not %s", w.turn)
	case w.after != "" && !slices.ContainsFunc(v.fresh, func(r result) bool { return glob(w.after, r.tool) || r.as == w.after }):
		return fmt.Sprintf("no new result of %s", w.after)
	case w.mail != nil && !slices.ContainsFunc(v.newMail, func(l message) bool { return w.mail.MatchString(l.from + ": " + l.text) }):
		return fmt.Sprintf("no new mail like /%s/", w.mail)
	case w.text != nil && !w.text.MatchString(v.newest):
		return fmt.Sprintf("the newest content is not like /%s/", w.text)
	}
	return ""
}

// glob matches a pattern that Load has checked.
func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// span is a range of numbers that includes both ends.
type span struct{ from, to int }

// spans is a set of numbers; the empty one contains all.
type spans []span

func (s spans) has(n int) bool {
	return len(s) == 0 || slices.ContainsFunc(s, func(p span) bool { return p.from <= n && n <= p.to })
}

func (s spans) String() string {
	parts := make([]string, len(s))
	for i, p := range s {
		switch {
		case p.from == p.to:
			parts[i] = fmt.Sprint(p.from)
		case p.to == maxStep:
			parts[i] = fmt.Sprintf("%d-", p.from)
		default:
			parts[i] = fmt.Sprintf("%d-%d", p.from, p.to)
		}
	}
	return strings.Join(parts, " or ")
}

// blocks runs the templates.
func (s *say) blocks(v *view) ([]model.Block, error) {
	var blocks []model.Block
	thinking, err := s.thinking.run(v)
	if err != nil {
		return nil, err
	}
	if thinking != "" {
		blocks = append(blocks, model.Block{Type: model.TypeThinking, Thinking: thinking, Signature: "script"})
	}
	said, err := s.text.run(v)
	if err != nil {
		return nil, err
	}
	if said != "" {
		blocks = append(blocks, model.Text(said))
	}
	for i, c := range s.calls {
		b, err := c.block(v, i)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func (c *call) block(v *view, i int) (model.Block, error) {
	name, err := c.tool.run(v)
	if err != nil {
		return model.Block{}, err
	}
	input, err := c.input.appendJSON(nil, v)
	if err != nil {
		return model.Block{}, err
	}
	// The name of the call travels in its id, so that a later request, maybe of
	// another process, can identify the result.
	id := fmt.Sprintf("%s%s_%d", idPrefix, v.mark, i)
	if c.as != "" {
		id += "_" + c.as
	}
	return model.ToolUse(id, name, input), nil
}
