package ask

import (
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/event"
)

// Check returns why a does not answer q, or nil.
func Check(q event.Question, a event.Answer) error {
	refuse := func(format string, args ...any) error {
		return &event.AnswerNotPermittedError{ID: q.ID, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case a.Always && !a.Allow:
		return refuse("only a permission can be given for always")
	case a.Scope != "" && !a.Always:
		return refuse("only a permission for always is saved")
	case !slices.Contains([]string{"", "local", "project", "user"}, a.Scope):
		return refuse("there is no settings file %q; use local, project or user, or none for the session", a.Scope)
	case a.Always && len(q.Rules) == 0:
		return refuse("no rule can allow this call for always (%s); allow it once", q.Reason)
	case q.Kind == event.AsksPermission && a.IsAnswer():
		return refuse("it asks for a permission; allow or deny it, with a note if you like")
	case q.Kind == event.AsksAnswer && a.Allow && !a.IsAnswer():
		return refuse("the answer is empty; pick from what is offered or write a text")
	case len(a.Choices) > len(q.Choices):
		return refuse("it asks %d things and the answer holds %d", len(q.Choices), len(a.Choices))
	}
	for i, picked := range a.Choices {
		if len(picked) > 1 && !q.Choices[i].MultiSelect {
			return refuse("only one answer fits %q", q.Choices[i].Question)
		}
	}
	return nil
}
