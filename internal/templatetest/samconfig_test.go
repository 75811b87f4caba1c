package templatetest

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

// samOptions are those of the commands that samconfig.toml sets: flags of sam, with
// underscores. sam takes a misspelt one in silence, and leaves it out.
var samOptions = map[string]string{
	"global":             "stack_name",
	"validate":           "lint",
	"build":              "parallel cached build_in_source build_dir parameter_overrides",
	"deploy":             "template_file capabilities confirm_changeset resolve_s3 fail_on_empty_changeset parameter_overrides",
	"sync":               "capabilities watch parameter_overrides",
	"local_invoke":       "template_file event env_vars parameter_overrides",
	"local_start_lambda": "template_file env_vars warm_containers parameter_overrides",
}

// guided are options that `sam deploy --guided` writes into the file, one environment
// at a time: they are the user's.
var guided = strings.Fields("region profile s3_bucket s3_prefix disable_rollback tags image_repositories stack_name")

// samConfig is samconfig.toml: environment, command, the word parameters, option.
type samConfig map[string]map[string]map[string]map[string]any

func readSamConfig(t *testing.T) samConfig {
	t.Helper()
	b, err := os.ReadFile(root + "samconfig.toml")
	if err != nil {
		t.Fatal(err)
	}
	// The version is the only thing that is in no environment.
	version, environments, found := strings.Cut(string(b), "version = 0.1\n")
	if !found || strings.Contains(version, "[") {
		t.Fatal("samconfig.toml does not begin with version = 0.1")
	}
	config := samConfig{}
	if _, err := toml.Decode(environments, &config); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestSamConfig(t *testing.T) {
	t.Parallel()
	config := readSamConfig(t)
	if diff := cmp.Diff([]string{"default", "x86"}, slices.Sorted(maps.Keys(config))); diff != "" {
		t.Fatalf("environments (-want +got):\n%s", diff)
	}
	parameters, _ := get(load(t), "Parameters").(map[string]any)
	for environment, commands := range config {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(samOptions)), slices.Sorted(maps.Keys(commands))); diff != "" {
			t.Errorf("%s: commands (-want +got):\n%s", environment, diff)
		}
		for command, section := range commands {
			for option, value := range section["parameters"] {
				if command == "deploy" && slices.Contains(guided, option) {
					continue
				}
				if !slices.Contains(strings.Fields(samOptions[command]), option) {
					t.Errorf("%s.%s sets %s, which is none of the options in samOptions; correct it, or add it there", environment, command, option)
				}
				if option != "parameter_overrides" {
					continue
				}
				for name := range split(text(value)) {
					if parameters[name] == nil {
						t.Errorf("%s.%s overrides %s, which is no parameter of the template", environment, command, name)
					}
				}
			}
		}
	}
}

// What is deployed and run is what was built. Where a command names no template, sam
// takes the one of this folder if nothing was built, and with it the sources.
func TestSamConfig_TakesWhatWasBuilt(t *testing.T) {
	t.Parallel()
	for environment, commands := range readSamConfig(t) {
		folder, ok := commands["build"]["parameters"]["build_dir"].(string)
		if !ok {
			folder = ".aws-sam/build" // of sam
		}
		for _, command := range []string{"deploy", "local_invoke", "local_start_lambda"} {
			if got, want := text(commands[command]["parameters"]["template_file"]), folder+"/template.yaml"; got != want {
				t.Errorf("%s.%s has template_file %q, want %q", environment, command, got, want)
			}
		}
	}
}

// Both environments say the same but for the processor, and take what they deploy
// and run from where they have built it.
func TestSamConfig_EnvironmentsAgree(t *testing.T) {
	t.Parallel()
	config := readSamConfig(t)
	const folder = ".aws-sam/x86"
	for command, want := range map[string]map[string]any{
		"build":              {"build_dir": folder, "parameter_overrides": "Architecture=x86_64"},
		"deploy":             {"template_file": folder + "/template.yaml", "parameter_overrides": "Architecture=x86_64"},
		"sync":               {"parameter_overrides": "Architecture=x86_64"},
		"local_invoke":       {"template_file": folder + "/template.yaml", "parameter_overrides": "Architecture=x86_64"},
		"local_start_lambda": {"template_file": folder + "/template.yaml", "parameter_overrides": "Architecture=x86_64"},
		"validate":           {},
		"global":             {},
	} {
		own := map[string]any{}
		for option, value := range config["x86"][command]["parameters"] {
			common, ok := config["default"][command]["parameters"][option]
			if (!ok || !cmp.Equal(common, value)) && !slices.Contains(guided, option) {
				own[option] = value
			}
		}
		if diff := cmp.Diff(want, own); diff != "" {
			t.Errorf("x86.%s: what it has of its own (-want +got):\n%s", command, diff)
		}
		for option := range config["default"][command]["parameters"] {
			if _, ok := config["x86"][command]["parameters"][option]; !ok && !slices.Contains(guided, option) {
				t.Errorf("x86.%s lacks %s, which default has", command, option)
			}
		}
	}
}
