// Package templatetest holds the tests of template.yaml, samconfig.toml and
// events: it evaluates the template for sets of parameters, as CloudFormation
// does, and checks what must be true of the stack that results. What `sam build`
// made is checked too, where there is such a thing.
package templatetest
