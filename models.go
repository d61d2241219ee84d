package swarm

import (
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

// NoModelError reports that nothing says which model is to be used.
type NoModelError struct{}

func (NoModelError) Error() string {
	return "there is no model: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) for Claude, " +
		"or OPENAI_BASE_URL with --model NAME for any OpenAI-compatible endpoint such as Ollama, " +
		"or give a scripted model with --model script:FILE"
}

// models finds the model of a name. Each credential has one governor, so that
// all agents back off together.
type models struct {
	opts  Options
	mu    sync.Mutex
	ready map[string]model.Model // by provider; guarded by mu
}

func newModels(o Options) *models { return &models{opts: o, ready: map[string]model.Model{}} }

// settle returns the name of the lead's model, or an error that says how to
// give one, before anything is started.
func (m *models) settle(name string) (string, error) {
	name = first(name, m.opts.Getenv("SWARM_MODEL"), m.opts.Getenv("ANTHROPIC_MODEL"))
	if name == "" {
		name = m.fallback()
	}
	_, _, err := m.find(name)
	return name, err
}

// fallback is the model when nobody names one.
func (m *models) fallback() string {
	if _, ok := anthropic.FromEnv(m.opts.Getenv); !ok && m.opts.Getenv("OPENAI_BASE_URL") != "" {
		return m.opts.Getenv("OPENAI_MODEL")
	}
	return "sonnet"
}

// find returns the model of a name and its exact id.
func (m *models) find(name string) (model.Model, string, error) {
	if m.opts.Models != nil {
		return m.opts.Models(name)
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
	if o, ok := anthropic.FromEnv(m.opts.Getenv); ok {
		found, err := m.provider("anthropic", func() (model.Model, error) { return anthropic.New(o) })
		return found, anthropic.Resolve(name, m.opts.Getenv), err
	}
	if m.opts.Getenv("OPENAI_BASE_URL") != "" || m.opts.Getenv("OPENAI_API_KEY") != "" {
		return m.openai(name)
	}
	return nil, "", NoModelError{}
}

func (m *models) openai(id string) (model.Model, string, error) {
	if id == "" || id == "sonnet" || id == "opus" || id == "haiku" {
		return nil, "", fmt.Errorf("the OpenAI-compatible endpoint needs a model by its own name, not %q; give one with --model NAME or OPENAI_MODEL", id)
	}
	o, _ := openai.FromEnv(m.opts.Getenv)
	found, err := m.provider("openai", func() (model.Model, error) { return openai.New(o) })
	return found, id, err
}

// provider returns the governed model of one credential. mu is held.
func (m *models) provider(key string, make func() (model.Model, error)) (model.Model, error) {
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
func (m *models) maxTries() (int, error) {
	value := m.opts.Getenv("CLAUDE_CODE_MAX_RETRIES")
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
