package autojudge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
)

const (
	// maxRow and maxDenied are the denials after which the model is not asked: in a row, and
	// of all calls of an agent.
	maxRow    = 3
	maxDenied = 20
	// maxTokens is the most that an answer may hold.
	maxTokens = 1_000
	// defaultTimeout is how long the model has.
	defaultTimeout = time.Minute
)

// Rule is the rule of decisions of the model.
const Rule = "mode auto"

// Options configure New. Ask is required.
type Options struct {
	// Ask makes one request for an agent, within its budgets, with the model of a name; ""
	// is one for small questions.
	Ask func(ctx context.Context, a agent.Spec, name string, req model.Request) (*model.Answer, error)
	// Model is the name of the model; it may be empty.
	Model string
	// Instructions returns the instructions of the project; nil: none.
	Instructions func() string
	// Timeout is how long the model has; 0 is a minute.
	Timeout time.Duration
}

// Judge has a model judge calls. Its methods may be called from any goroutine.
type Judge struct{ o Options }

// New returns a Judge.
func New(o Options) *Judge {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	return &Judge{o}
}

// Log is what a Judge uses of a transcript.Judging.
type Log interface {
	Spec() agent.Spec
	Record() agent.Record
	Said() ([]transcript.Said, error)
	Messages() ([]model.Message, error)
	Judged(transcript.Judgement) error
}

// Agent is the agent whose calls are judged. Log is required.
type Agent struct {
	Log Log
	// ReadOnly reports a tool that only reads; nil: none.
	ReadOnly func(tool string) bool
	// Emit publishes a fact about the agent; nil: nobody.
	Emit func(event.Fact)
	// Denied is called after the model has denied a call, with its reason, and reports
	// whether the agent may try again; nil: nobody.
	Denied func(ctx context.Context, c model.Call, reason string) (retry bool)
	// Pause stops the deadlines of the agent until resume is called; nil: it has none.
	Pause func() (resume func())
}

// Decide decides about a call that d asks about and a model may judge. The decision that it
// returns asks like d if the model gives no verdict, with the reason. again decides anew
// without the model, after it has answered. The error is why ctx ended, or of the record.
func (j *Judge) Decide(ctx context.Context, a Agent, c model.Call, d permission.Decision, again func() permission.Decision) (permission.Decision, error) {
	if why := limit(a.Log.Record().Judged); why != "" {
		return unjudged(d, why), nil
	}
	doc, err := j.newDocument(a, c.ID)
	if err != nil {
		return d, err
	}
	if err := doc.ofCall(c, d); err != nil {
		return unjudged(d, "no model judges it: "+err.Error()), nil
	}
	judged, err := j.ask(ctx, a, c, doc, callInstruction)
	if err != nil {
		return d, err
	}
	now := again()
	switch {
	case now.Behavior != permission.Ask || now.Judge == permission.NotJudged:
		return now, nil // by a rule that came meanwhile
	case judged.Verdict == "":
		return unjudged(now, "the model gave no verdict: "+judged.Reason), nil
	case judged.Verdict == agent.Denied:
		return a.denied(ctx, c, judged.Reason), nil
	case !maps.Equal(now.Paths, d.Paths):
		return unjudged(now, "a path led elsewhere while the model judged"), nil
	}
	now.Behavior, now.Judge, now.Rule, now.Reason = permission.Allow, permission.NotJudged, Rule, judged.Reason
	return now, nil
}

// denied returns the decision about a call that the model has denied.
func (a Agent) denied(ctx context.Context, c model.Call, reason string) permission.Decision {
	d := permission.Decision{Rule: Rule, Reason: "the model that judges calls denies it: " + reason}
	if a.Denied != nil && a.Denied(ctx, c, reason) {
		d.Reason += " (a hook lets you try again)"
	}
	return d
}

// limit returns why the model is not asked any more, or "".
func limit(j agent.Judged) string {
	switch {
	case j.Row >= maxRow:
		return fmt.Sprintf("the model has denied %d calls in a row and is not asked before you have allowed one", j.Row)
	case j.Denied >= maxDenied:
		return fmt.Sprintf("the model has denied %d calls of this agent and is not asked any more", j.Denied)
	}
	return ""
}

// unjudged adds to d why the model has not decided.
func unjudged(d permission.Decision, why string) permission.Decision {
	d.Reason += "; " + why
	return d
}

// Report returns a warning to put before the report of an agent, or "". The error is why
// ctx ended, or of the record.
func (j *Judge) Report(ctx context.Context, a Agent, report string) (warning string, err error) {
	doc, err := j.newDocument(a, "")
	if err != nil {
		return "", err
	}
	doc.Report = cut(report, maxAllSaid)
	judged, err := j.ask(ctx, a, model.Call{}, doc, reportInstruction)
	switch {
	case err != nil:
		return "", err
	case judged.Verdict == "":
		return "(warning: the work of this agent could not be reviewed: " + judged.Reason + ")\n\n", nil
	case judged.Verdict == agent.Denied:
		return "(warning: a review of the work of this agent objects: " + judged.Reason + " Check it before you use the report.)\n\n", nil
	}
	return "", nil
}

// ask asks the model, and records and publishes its judgement. The verdict is "" if there
// is none.
func (j *Judge) ask(ctx context.Context, a Agent, c model.Call, doc *document, instruction string) (transcript.Judgement, error) {
	shown, err := doc.encode()
	if err != nil {
		return transcript.Judgement{}, err
	}
	judged := transcript.Judgement{Call: c.ID, Model: j.o.Model, Instruction: idOf(instruction), Case: shown}
	begun := time.Now()
	answer, err := j.request(ctx, a, shown, instruction)
	if cause := context.Cause(ctx); cause != nil {
		return judged, cause
	}
	judged.Took = time.Since(begun)
	if err == nil {
		judged.Verdict, judged.Reason, err = verdictOf(answer)
	}
	if answer != nil {
		judged.Model, judged.Usage = cmp.Or(answer.Model, judged.Model), answer.Usage
	}
	if err != nil {
		judged.Verdict, judged.Reason = "", cut(err.Error(), maxReason)
	}
	if err := a.Log.Judged(judged); err != nil {
		return judged, err
	}
	if a.Emit != nil {
		a.Emit(event.Judged{Call: c, Model: judged.Model, Verdict: string(judged.Verdict), Reason: judged.Reason, Took: judged.Took})
	}
	return judged, nil
}

var errLate = errors.New("it did not answer in time")

// request makes the request within its time.
func (j *Judge) request(ctx context.Context, a Agent, shown []byte, instruction string) (*model.Answer, error) {
	if a.Pause != nil {
		defer a.Pause()()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, j.o.Timeout, errLate)
	defer cancel()
	spec := a.Log.Spec()
	answer, err := j.o.Ask(ctx, spec, j.o.Model, model.Request{
		MaxTokens: maxTokens, Messages: []model.Message{model.UserMessage(model.Text(string(shown)))},
		System: []json.RawMessage{model.EncodeSystem(instruction)},
		Caller: model.Caller{AgentID: string(spec.ID), Agent: "auto-judge", Type: "auto-judge"},
	})
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return answer, err
}
