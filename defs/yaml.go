package defs

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// field is one top-level entry of the frontmatter, whatever pass read it.
type field struct {
	key  string
	line int // in the file
	node *yaml.Node
}

// fields reads the frontmatter in the first of three passes that understands
// it: strict YAML, single values quoted, line by line.
func (p *parser) fields(f frontmatter) []field {
	text := f.text()
	if len(text) > maxYAML {
		p.warn(f.frontLine, "the frontmatter has %d bytes and is read line by line; keep it below %d", len(text), maxYAML)
		return p.recoverLines(f)
	}
	fields, err := strictYAML(text, f.frontLine)
	if err == nil && !strayDialogue(fields) {
		return fields
	}
	if fields, ok := p.repairQuotes(f); ok {
		return fields
	}
	return p.recoverLines(f)
}

// strictYAML reads text as one mapping. first is the line of its first line.
func strictYAML(text string, first int) ([]field, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if doc.Kind == 0 {
		return nil, nil // blank or only comments
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: not a list of fields", first)
	}
	fields := make([]field, 0, len(root.Content)/2)
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a field's name is not a word", k.Line+first-1)
		}
		shift(v, first-1, 0)
		fields = append(fields, field{key: k.Value, line: k.Line + first - 1, node: v})
	}
	return fields, nil
}

// shift moves the lines of a subtree to the file's. Depth is bounded by the
// YAML parser; aliases are not followed.
func shift(n *yaml.Node, by, depth int) {
	n.Line += by
	for _, c := range n.Content {
		shift(c, by, depth+1)
	}
}

// strayDialogue reports an unknown field that is given more than once: the
// "user:" and "assistant:" lines of an example that belong to the description.
func strayDialogue(fields []field) bool {
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if canonicalField(f.key) == "" && seen[f.key] {
			return true
		}
		seen[f.key] = true
	}
	return false
}

func textNode(value string, line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: line}
}

func listNode(items []string, line int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: line}
	for _, it := range items {
		n.Content = append(n.Content, textNode(it, line))
	}
	return n
}
