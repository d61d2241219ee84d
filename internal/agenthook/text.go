package agenthook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
)

const (
	// maxText is how much of a text of a hook an agent is given, in bytes.
	maxText = 10_000
	// previewText is how much of one it is given that is in a file.
	previewText = 2_000
)

// contexts returns what hooks add to the conversation: additionalContext and, where
// plain is set, what they print without JSON.
func (h *Hooks) contexts(a agent.Spec, all []hook.Outcome, plain bool) (texts []string) {
	for _, o := range all {
		text := ""
		switch {
		case o.Err != nil || o.Code != 0 && o.Output == nil:
		case o.Output != nil:
			var specific struct {
				Context string `json:"additionalContext"`
			}
			if json.Unmarshal(o.Output.Specific, &specific) == nil {
				text = specific.Context
			}
		case plain:
			text = o.Stdout
		}
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, h.cut(a, text))
		}
	}
	return texts
}

// cut returns a text that is short enough for an agent. A long one goes to a file.
func (h *Hooks) cut(a agent.Spec, text string) string {
	if len(text) <= maxText || h.o.Save == nil {
		return limited(text)
	}
	sum := sha256.Sum256([]byte(text))
	path, err := h.o.Save(a, "hook-"+hex.EncodeToString(sum[:8]), text)
	if err != nil {
		h.warnOnce(a, fmt.Sprintf("a long text of a hook could not be saved: %v", err))
		return limited(text)
	}
	return strings.ToValidUTF8(text[:previewText], "") + fmt.Sprintf("\n(this is the start; all %d bytes are in %s)", len(text), path)
}

func limited(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "\n(the rest of what the hook printed is left out)"
}
