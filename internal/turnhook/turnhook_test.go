package turnhook

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

type worker struct{ prompts []string }

func (*worker) Spec() agent.Spec { return agent.Spec{ID: "a", Type: "worker", Role: agent.Foreground} }

func (*worker) Calls() ([]transcript.CallState, error) { return nil, nil }

func (w *worker) Prompt(_, text string) error {
	w.prompts = append(w.prompts, text)
	return nil
}

// permit decides about the command ls with one hook at an event, and rules.
func permit(t *testing.T, policy permission.Policy, output string) turn.Verdict {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"PreToolUse": []any{map[string]any{"hooks": []any{
		map[string]any{"type": "command", "command": "cat <<'END'\n" + output + "\nEND"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{
		Hooks: agenthook.New(agenthook.Options{Dir: t.TempDir(), Load: func() []hook.File { return []hook.File{{Path: "f", Hooks: raw}} }}),
		Agent: &worker{}, Policy: func() permission.Policy { return policy }, Pause: func() func() { return func() {} }, Context: t.Context,
	})
	call := model.Call{ID: "c", Name: "Bash", Input: json.RawMessage(`{"command":"touch x"}`)}
	v, err := r.Permit(t.Context(), tool.Spec{Name: "Bash"}, call, func(_ context.Context, _ tool.Spec, c model.Call, pre agenthook.Decision) (turn.Verdict, error) {
		return turn.Verdict{Decision: Judge(policy, permission.Request{Tool: "Bash", Input: c.Input, Cwd: "/w"}, pre)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func says(decision string) string {
	return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + decision + `","permissionDecisionReason":"so"}}`
}

func rules(t *testing.T, texts ...string) (all []permission.Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := permission.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestHooksComeFirstAndRulesStay(t *testing.T) {
	plain := permission.Policy{Dirs: []string{"/w"}}
	denied, asked, bypass := plain, plain, plain
	denied.Deny, asked.Ask, bypass.Mode = rules(t, "Bash(touch *)"), rules(t, "Bash(touch *)"), permission.Bypass
	for _, c := range []struct {
		name   string
		policy permission.Policy
		says   string
		want   permission.Behavior
	}{
		{"no hook says anything", plain, "", permission.Ask},
		{"allow", plain, says("allow"), permission.Allow},
		{"allow and a deny rule", denied, says("allow"), permission.Deny},
		{"allow and an ask rule", asked, says("allow"), permission.Ask},
		{"deny where all is allowed", bypass, says("deny"), permission.Deny},
		{"ask where all is allowed", bypass, says("ask"), permission.Ask},
	} {
		v := permit(t, c.policy, c.says)
		if v.Behavior != c.want {
			t.Errorf("%s: %v (%s)", c.name, v.Behavior, v.Reason)
		}
		if strings.HasPrefix(c.name, "ask where") && !strings.HasSuffix(v.Reason, ": so") {
			t.Errorf("%s: the reason is %q", c.name, v.Reason)
		}
	}
}

func TestRulesJudgeTheInputOfHooks(t *testing.T) {
	policy := permission.Policy{Mode: permission.Bypass, Deny: rules(t, "Bash(shred *)"), Dirs: []string{"/w"}}
	v := permit(t, policy, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"shred x"}}}`)
	if v.Behavior != permission.Deny {
		t.Errorf("the input of the hook is not judged: %+v", v)
	}
	v = permit(t, policy, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"true"}}}`)
	if v.Behavior != permission.Allow || string(v.Input) != `{"command":"true"}` {
		t.Errorf("the input of the hook is not used: %+v", v)
	}
}

func TestAHookReplacesAResult(t *testing.T) {
	plain, rich := tool.Result{Text: "old"}, tool.Result{Text: "old", Detail: json.RawMessage(`{"stdout":"old"}`)}
	for _, c := range []struct {
		name   string
		result tool.Result
		output string
		text   string
		detail string
	}{
		{"a text", plain, `"new"`, "new", ""},
		{"a text for an object", rich, `"new"`, "new", `{"stdout":"old"}`},
		{"an object", rich, `{"stdout":"new"}`, `{"stdout":"new"}`, `{"stdout":"new"}`},
		{"an object for a text", plain, `{"stdout":"new"}`, "old", ""},
		{"a number", rich, `3`, "old", `{"stdout":"old"}`},
		{"nothing", rich, ``, "old", `{"stdout":"old"}`},
	} {
		got := replaced(c.result, json.RawMessage(c.output))
		if got.Text != c.text || string(got.Detail) != c.detail {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
