package provider

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/model"
)

// env returns an environment of pairs NAME=VALUE.
func env(pairs ...string) Options {
	return Options{Getenv: func(name string) string {
		for _, p := range pairs {
			if value, ok := strings.CutPrefix(p, name+"="); ok {
				return value
			}
		}
		return ""
	}}
}

func TestFindWithoutACredentialSaysWhatToSet(t *testing.T) {
	_, _, err := New(env()).Find("sonnet")
	if !errors.As(err, new(model.NoModelError)) || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
		t.Errorf("the error is %v", err)
	}
}

func TestOneGovernorServesACredential(t *testing.T) {
	models := New(env("ANTHROPIC_API_KEY=a", "OPENAI_BASE_URL=http://127.0.0.1:1"))
	sonnet, first, err := models.Find("sonnet")
	if err != nil {
		t.Fatal(err)
	}
	opus, second, err := models.Find("opus")
	if err != nil {
		t.Fatal(err)
	}
	other, id, err := models.Find("openai:mine")
	if err != nil {
		t.Fatal(err)
	}
	if sonnet != opus || first == second {
		t.Errorf("sonnet (%s) and opus (%s) do not share the governor of their credential", first, second)
	}
	if other == sonnet || id != "mine" {
		t.Errorf("another credential shares the governor; its model is %q", id)
	}
}

func TestDefaultIsWhatTheEnvironmentNames(t *testing.T) {
	for _, c := range []struct {
		given string
		env   []string
		want  string
	}{
		{"opus", []string{"ANTHROPIC_API_KEY=a", "SWARM_MODEL=haiku"}, "opus"},
		{"", []string{"ANTHROPIC_API_KEY=a", "SWARM_MODEL=haiku", "ANTHROPIC_MODEL=opus"}, "haiku"},
		{"", []string{"ANTHROPIC_API_KEY=a", "ANTHROPIC_MODEL=opus"}, "opus"},
		{"", []string{"ANTHROPIC_API_KEY=a"}, "sonnet"},
		{"", []string{"OPENAI_BASE_URL=http://127.0.0.1:1", "OPENAI_MODEL=mine"}, "mine"},
	} {
		if got, err := New(env(c.env...)).Default(c.given); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func TestFindSaysWhatIsWrong(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"script:" + broken, nil, broken},
		{"script:missing", nil, "read the scripted model"},
		{"sonnet", []string{"OPENAI_BASE_URL=http://127.0.0.1:1"}, "needs a model by its own name"},
		{"sonnet", []string{"ANTHROPIC_API_KEY=a", "CLAUDE_CODE_MAX_RETRIES=-1"}, "CLAUDE_CODE_MAX_RETRIES is \"-1\""},
	} {
		if _, _, err := New(env(c.env...)).Find(c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestFastIsOfTheSameProvider(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"opus", []string{"ANTHROPIC_API_KEY=a"}, "haiku"},
		{"openai:mine", []string{"ANTHROPIC_API_KEY=a"}, "openai:mine"},
		{"script:x", []string{"ANTHROPIC_API_KEY=a"}, "script:x"},
		{"mine", []string{"OPENAI_BASE_URL=http://127.0.0.1:1"}, "mine"},
	} {
		if got := New(env(c.env...)).Fast(c.name); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
