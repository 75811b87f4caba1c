package templatetest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// parse reads a template. Short forms of intrinsic functions become long ones:
// !Ref X is {"Ref": "X"}, !GetAtt A.B is {"Fn::GetAtt": ["A", "B"]}. A key that is
// there twice is an error, since the second one would win silently.
func parse(text string) (map[string]any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, fmt.Errorf("the template is no single YAML document")
	}
	v, err := convert(doc.Content[0])
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the template is no mapping")
	}
	return m, nil
}

func convert(n *yaml.Node) (any, error) {
	v, err := plain(n)
	if err != nil {
		return nil, err
	}
	tag := n.Tag
	if !strings.HasPrefix(tag, "!") || strings.HasPrefix(tag, "!!") {
		return v, nil
	}
	switch name := tag[1:]; name {
	case "Ref", "Condition":
		return map[string]any{name: v}, nil
	case "GetAtt":
		if s, ok := v.(string); ok {
			resource, attribute, _ := strings.Cut(s, ".")
			v = []any{resource, attribute}
		}
		return map[string]any{"Fn::GetAtt": v}, nil
	default:
		return map[string]any{"Fn::" + name: v}, nil
	}
}

func plain(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		return mapping(n)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := convert(c)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.ScalarNode:
		if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
			return n.Value, nil
		}
		var v any
		err := n.Decode(&v)
		return v, err
	default:
		return nil, fmt.Errorf("line %d: aliases are not for CloudFormation", n.Line)
	}
}

func mapping(n *yaml.Node) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("line %d: %s is there twice", n.Content[i].Line, key)
		}
		v, err := convert(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}
