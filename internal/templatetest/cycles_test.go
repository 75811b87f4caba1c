package templatetest

import (
	"maps"
	"slices"
	"strings"
)

// cycles finds resources that need each other, which CloudFormation cannot create:
// a dead-letter queue that names its source by a reference is the usual case.
func cycles(template map[string]any) (problems []string) {
	resources, _ := get(template, "Resources").(map[string]any)
	needs := map[string][]string{}
	for name, r := range resources {
		found := map[string]bool{}
		references(r, resources, found)
		for _, d := range list(get(r, "DependsOn")) {
			found[d] = true
		}
		needs[name] = slices.Sorted(maps.Keys(found))
	}
	const (
		under = 1
		done  = 2
	)
	state := map[string]int{}
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		path = append(slices.Clone(path), name)
		switch state[name] {
		case under:
			problems = append(problems, "circular reference: "+strings.Join(path[slices.Index(path, name):], " needs ")+"; build an ARN from names with !Sub")
			return
		case done:
			return
		}
		state[name] = under
		for _, n := range needs[name] {
			visit(n, path)
		}
		state[name] = done
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		visit(name, nil)
	}
	return problems
}

// references collects the resources that a tree refers to.
func references(v any, resources map[string]any, found map[string]bool) {
	note := func(name string) {
		name, _, _ = strings.Cut(name, ".")
		if resources[name] != nil {
			found[name] = true
		}
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			references(item, resources, found)
		}
	case map[string]any:
		for name, item := range v {
			switch name {
			case "Ref":
				note(text(item))
			case "Fn::GetAtt":
				note(text(item.([]any)[0]))
			case "Fn::Sub":
				for _, s := range variable.FindAllStringSubmatch(list(item)[0], -1) {
					note(s[1])
				}
			}
			references(item, resources, found)
		}
	}
}
