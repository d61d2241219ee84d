package redact

import (
	"context"

	"github.com/actorswarm/swarm/tool"
)

// Tools returns tools whose results are redacted.
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
	r, err := t.Tool.Run(ctx, c)
	return t.secrets.Result(r), err
}
