package redact

import (
	"context"
	"slices"

	"github.com/actorswarm/swarm/tool"
)

// writers are the tools whose input may become the content of a file.
var writers = []string{"Bash", "Edit", "NotebookEdit", "Write"}

// Tools returns tools whose results are redacted. Those that write refuse an input with a
// placeholder.
func (s *Secrets) Tools(all []tool.Tool) []tool.Tool {
	redacted := make([]tool.Tool, 0, len(all))
	for _, t := range all {
		redacted = append(redacted, &redactedTool{Tool: t, secrets: s})
	}
	return redacted
}

type redactedTool struct {
	tool.Tool
	secrets *Secrets
}

func (t *redactedTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	if p := t.secrets.placeholderIn(string(c.Input)); p != "" && slices.Contains(writers, t.Spec().Name) {
		return tool.Errorf("The input has %s, which stands for a key that you were not shown, so nothing was done: written, it would replace the key. "+
			"Leave the key where it is and change what is around it, or ask the user.", p), nil
	}
	r, err := t.Tool.Run(ctx, c)
	return t.secrets.Result(r), err
}
