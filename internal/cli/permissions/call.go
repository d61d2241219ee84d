package permissions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/permission"
)

// call is a call that a person has named.
type call struct {
	text    string // as it is shown
	request permission.Request
}

// parseCall parses a call, such as "Bash(git push)" or the words Bash, git and push.
func (o *subject) parseCall(args []string) (call, error) {
	tool, input, err := splitRule(args)
	if err != nil {
		return call{}, err
	}
	if err := o.checkTool(tool); err != nil {
		return call{}, err
	}
	raw, err := inputOf(tool, input)
	if err != nil {
		return call{}, err
	}
	text := tool
	if input != "" {
		text += "(" + input + ")"
	}
	return call{text, permission.Request{Tool: tool, Input: raw, Cwd: o.spec.Dir, ReadOnly: isReadOnly(tool)}}, nil
}

// splitRule splits what a person has written into the name of a tool and the text for it:
// "Tool(text)", "Tool text", or the words of the latter.
func splitRule(args []string) (tool, text string, err error) {
	written := strings.TrimSpace(strings.Join(args, " "))
	if written == "" {
		return "", "", cli.Usagef(`name a tool or a call, such as "Bash(git push)"`)
	}
	end := strings.IndexAny(written, "( ")
	if end < 0 {
		return permission.Rule{Tool: written}.Tool, "", nil
	}
	tool, text = written[:end], strings.TrimSpace(written[end:])
	if !strings.HasPrefix(text, "(") {
		return tool, text, nil
	}
	rule, err := permission.ParseRule(written)
	if err != nil {
		return "", "", cli.Usagef(`%v, in quotes: "Bash(git push)"`, err)
	}
	return rule.Tool, rule.Specifier, nil
}

// checkTool returns an error for a tool that cannot exist.
func (o *subject) checkTool(name string) error {
	if (permission.Rule{Tool: name}).Flaw(permission.Deny, node.AllToolNames()) == "" {
		return nil
	}
	if near := agent.Suggest(name, o.tools); len(near) > 0 {
		return cli.Usagef("there is no tool %q; did you mean %s?", name, near[0])
	}
	return cli.Usagef("there is no tool %q; there are %s", name, strings.Join(o.tools, ", "))
}

// inputOf returns the input of a call: the text as JSON, or as the main field of the tool.
func inputOf(tool, text string) (json.RawMessage, error) {
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	fields := map[string]string{}
	switch tool {
	case "Bash", "Monitor", "PowerShell":
		fields["command"] = strings.TrimSuffix(text, ":*")
	case "Read", "Edit", "Write", "NotebookEdit", "MultiEdit", "LSP":
		fields["file_path"] = text
		if text == "" {
			fields["file_path"] = "."
		}
	case "Grep", "Glob":
		fields["pattern"], fields["path"] = "*", text
	case "WebFetch":
		fields["url"] = urlOf(text)
	case "Agent":
		fields["subagent_type"] = text
	case "SendMessage":
		fields["to"] = text
	case "Skill":
		fields["skill"], fields["args"], _ = strings.Cut(text, " ")
	default:
		if text != "" {
			return nil, cli.Usagef("write the input of %s as JSON: '%s({…})'", tool, tool)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the call: %w", err)
	}
	return raw, nil
}

// urlOf returns the URL of a text, which may be a host or have the form of a rule.
func urlOf(text string) string {
	text = strings.TrimPrefix(text, "domain:")
	if text != "" && !strings.Contains(text, "://") {
		return "https://" + text + "/"
	}
	return text
}

// isReadOnly reports tools that only read, of those that this program has.
func isReadOnly(tool string) bool {
	return slices.Contains([]string{"TaskGet", "TaskList", "TaskOutput", "ListAgents"}, tool)
}
