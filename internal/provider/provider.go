// Package provider finds the model of a name: of Anthropic, of an OpenAI-compatible
// endpoint, or of a script, as configured in the environment.
//
//	models := provider.New(provider.Options{Getenv: os.Getenv})
//	name, err := models.Default(flag) // before anything is started
//	m, id, err := models.Find(name)   // for each agent
//
// The laws:
//
//   - All agents that use one credential share one governor, so that they back off
//     together (TestOneGovernorServesACredential).
//   - Without a credential the error names the variables that provide one
//     (TestFindWithoutACredentialSaysWhatToSet).
package provider

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/anthropic"
	"github.com/actorswarm/swarm/model/openai"
	"github.com/actorswarm/swarm/model/script"
)

// Options configure the providers. The zero value reads the environment.
type Options struct {
	Getenv func(string) string // nil is os.Getenv
	// Find, if set, answers for every name instead of the providers.
	Find func(name string) (m model.Model, id string, err error)
}

// Models finds models by name. Its methods may be called from any goroutine.
type Models struct {
	o     Options
	mu    sync.Mutex
	ready map[string]model.Model // by provider; guarded by mu
}

// New returns the models of the configured providers.
func New(o Options) *Models {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Models{o: o, ready: map[string]model.Model{}}
}

// Default returns the name of the lead's model: the given one, or the configured one. The
// error names the remedy.
func (m *Models) Default(name string) (string, error) {
	name = cmp.Or(name, m.o.Getenv("SWARM_MODEL"), m.o.Getenv("ANTHROPIC_MODEL"))
	if name == "" {
		name = m.fallback()
	}
	_, _, err := m.Find(name)
	return name, err
}

// fallback returns the model if none is configured.
func (m *Models) fallback() string {
	if _, ok := anthropic.FromEnv(m.o.Getenv); !ok && m.o.Getenv("OPENAI_BASE_URL") != "" {
		return m.o.Getenv("OPENAI_MODEL")
	}
	return "sonnet"
}

// Find returns the model with a name, and its exact id. The error is a model.NoModelError
// if no provider is configured.
func (m *Models) Find(name string) (model.Model, string, error) {
	if m.o.Find != nil {
		return m.o.Find(name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if file, ok := strings.CutPrefix(name, "script:"); ok {
		found, err := m.provider(name, func() (model.Model, error) { return loadScript(file) })
		return found, name, err
	}
	if id, ok := strings.CutPrefix(name, "openai:"); ok {
		return m.openai(id)
	}
	if o, ok := anthropic.FromEnv(m.o.Getenv); ok {
		found, err := m.provider("anthropic", func() (model.Model, error) { return anthropic.New(o) })
		return found, anthropic.Resolve(name, m.o.Getenv), err
	}
	if m.o.Getenv("OPENAI_BASE_URL") != "" || m.o.Getenv("OPENAI_API_KEY") != "" {
		return m.openai(name)
	}
	return nil, "", model.NoModelError{}
}

// Fast returns the name of a model for small questions beside the work of another: a
// faster one of the same provider if one is known, otherwise the same.
func (m *Models) Fast(name string) string {
	_, anthropics := anthropic.FromEnv(m.o.Getenv)
	if m.o.Find != nil || !anthropics || strings.HasPrefix(name, "script:") || strings.HasPrefix(name, "openai:") {
		return name
	}
	return "haiku"
}

func (m *Models) openai(id string) (model.Model, string, error) {
	if id == "" || id == "sonnet" || id == "opus" || id == "haiku" {
		return nil, "", fmt.Errorf("the OpenAI-compatible endpoint needs a model by its own name, not %q; give one with --model NAME or OPENAI_MODEL", id)
	}
	o, _ := openai.FromEnv(m.o.Getenv)
	found, err := m.provider("openai", func() (model.Model, error) { return openai.New(o) })
	return found, id, err
}

// provider returns the governed model of one credential. mu is held.
func (m *Models) provider(key string, make func() (model.Model, error)) (model.Model, error) {
	if found := m.ready[key]; found != nil {
		return found, nil
	}
	found, err := make()
	if err != nil {
		return nil, err
	}
	tries, err := m.maxTries()
	if err != nil {
		return nil, err
	}
	m.ready[key] = model.NewGovernor(model.GovernorOptions{MaxAttempts: tries}).Govern(found)
	return m.ready[key], nil
}

// maxTries reads CLAUDE_CODE_MAX_RETRIES; 0 leaves it to the governor.
func (m *Models) maxTries() (int, error) {
	value := m.o.Getenv("CLAUDE_CODE_MAX_RETRIES")
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("CLAUDE_CODE_MAX_RETRIES is %q; give a whole number, at most 15, or unset it", value)
	}
	return min(n, 15) + 1, nil
}

func loadScript(file string) (model.Model, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the scripted model: %w", err)
	}
	s, err := script.Load(src)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the scripted model %s is not valid", file), err)
	}
	return s, nil
}
