package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/actorswarm/swarm/tool"
)

// maxText bounds the text of a result; what is longer than a request takes is cut there.
const maxText = 8 << 20

// result makes the result for a model of what a server has answered, with a note before it.
func result(got *mcp.CallToolResult, note string) tool.Result {
	var parts []string
	if note != "" {
		parts = append(parts, note)
	}
	for _, c := range got.Content {
		parts = append(parts, text(c))
	}
	r := tool.Result{IsError: got.IsError}
	if got.StructuredContent != nil {
		raw, err := json.Marshal(got.StructuredContent)
		if err == nil && len(got.Content) == 0 {
			parts = append(parts, string(raw))
		}
	}
	r.Text = strings.ToValidUTF8(strings.Join(parts, "\n"), "")
	if len(r.Text) > maxText {
		r.Text = strings.ToValidUTF8(r.Text[:maxText], "") + fmt.Sprintf("\n[cut: the server sent %d bytes]", len(r.Text))
	}
	if r.Text == "" {
		r.Text = "(no output)"
	}
	return r
}

// text returns a part of a result as text.
func text(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[an image, %s, %d bytes, which is not shown]", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes, which is not played]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[resource %s: %s]", c.URI, c.Name)
	case *mcp.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return "[an empty resource]"
		case c.Resource.Text != "":
			return fmt.Sprintf("[resource %s]\n%s", c.Resource.URI, c.Resource.Text)
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes, which is not shown]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return "[content of another kind, which is not shown]"
}
