package script

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// value is an input of a call: YAML whose strings are templates. It becomes
// JSON with the members in the order of the file.
type value struct {
	node  *yaml.Node // nil: an empty object
	plain json.RawMessage
	text  *text
	keys  []string
	list  []*value
}

func (p *parser) value(n *yaml.Node) *value {
	if n.Kind == 0 {
		return &value{}
	}
	return p.nested(n, 0)
}

// maxDepth and maxNodes keep aliases from being followed for ever.
const (
	maxDepth = 50
	maxNodes = 100_000
)

func (p *parser) nested(n *yaml.Node, depth int) *value {
	n = resolve(n)
	v := &value{node: n}
	if p.nodes++; depth > maxDepth || p.nodes > maxNodes {
		if p.nodes <= maxNodes+1 {
			p.fail(n.Line, "the input is nested deeper than %d or has more than %d members", maxDepth, maxNodes)
		}
		return v
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			v.keys = append(v.keys, n.Content[i].Value)
			v.list = append(v.list, p.nested(n.Content[i+1], depth+1))
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			v.list = append(v.list, p.nested(c, depth+1))
		}
	default:
		p.leaf(v)
	}
	return v
}

func (p *parser) leaf(v *value) {
	if v.node.Tag == "!!str" {
		v.text = p.text(v.node)
		return
	}
	var x any
	if err := v.node.Decode(&x); err != nil {
		p.fail(v.node.Line, "%v", err)
		return
	}
	plain, err := json.Marshal(x)
	if err != nil {
		p.fail(v.node.Line, "%q cannot be written as JSON; put it in quotes", v.node.Value)
	}
	v.plain = plain
}

// appendJSON writes the value with its templates run.
func (v *value) appendJSON(dst []byte, in *view) ([]byte, error) {
	switch {
	case v.node == nil:
		return append(dst, "{}"...), nil
	case v.node.Kind == yaml.MappingNode:
		return v.appendMembers(dst, in, '{', '}')
	case v.node.Kind == yaml.SequenceNode:
		return v.appendMembers(dst, in, '[', ']')
	case v.text == nil:
		return append(dst, v.plain...), nil
	}
	s, err := v.text.run(in)
	if err != nil {
		return nil, err
	}
	return appendQuoted(dst, s)
}

func (v *value) appendMembers(dst []byte, in *view, open, end byte) ([]byte, error) {
	dst = append(dst, open)
	for i, member := range v.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if v.keys != nil {
			if dst, err = appendQuoted(dst, v.keys[i]); err != nil {
				return nil, err
			}
			dst = append(dst, ':')
		}
		if dst, err = member.appendJSON(dst, in); err != nil {
			return nil, err
		}
	}
	return append(dst, end), nil
}

func appendQuoted(dst []byte, s string) ([]byte, error) {
	q, err := encode(s)
	if err != nil {
		return nil, fmt.Errorf("a text cannot be written as JSON: %w", err)
	}
	return append(dst, q...), nil
}
