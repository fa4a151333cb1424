package migrate

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/services/command"
)

const about = "Writes values of the chart from the settings of the existing cloud controller manager."

// Command writes values for the chart from what the existing cloud controller manager is run with. What is
// left out there, the instance's metadata service is asked for.
func Command(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("migrate", flag.ContinueOnError)
	file := flags.String("cloud-config", "", "the existing cloud-controller-manager's cloud-config `FILE`")
	line := flags.String("flags", "", "its `ARGUMENTS`, separated by blanks or as JSON lists")
	env := flags.String("env", "", "its environment, the JSON `LIST` of the manifest")
	metadata := flags.String("metadata-endpoint", cmp.Or(os.Getenv("METADATA_ENDPOINT"), "http://100.100.100.200"),
		"`URL` of the instance metadata service, for the region and the VPC if the file leaves them out; empty: don't ask")
	if helped, err := command.Parse(flags, about, args, out); helped || err != nil {
		return err
	}
	var text []byte
	var err error
	if *file != "" {
		if text, err = os.ReadFile(*file); err != nil {
			return fmt.Errorf("migrate: read the cloud-config: %w", err)
		}
	}
	// The defaults of a process of which nothing is known are no values: another cluster id and network would be taken
	// over.
	if strings.TrimSpace(string(text)+*line+*env) == "" {
		return errors.New("migrate: there are no settings: name them with --cloud-config FILE, --flags ARGUMENTS and --env LIST. " +
			"Where they can't be seen, as on a managed ACK cluster, write the values by hand: docs/install.md, section 3")
	}
	words, err := Words(*line)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	variables, err := Environment(*env)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	result, err := Convert(text, words, variables)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for key, item := range map[string]string{"region": "region-id", "vpcID": "vpc-id"} {
		if result.Values[key] == nil {
			result.Values[key] = locate(ctx, *metadata, item)
		}
	}
	return write(out, result)
}

// locate asks the metadata service, and gives nothing if there is none: the chart then asks for the value.
func locate(ctx context.Context, endpoint, item string) string {
	if endpoint == "" {
		return ""
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ask := func(method, path string, header http.Header) string {
		//nolint:gosec // The user names the endpoint.
		req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(endpoint, "/")+path, nil)
		if err != nil {
			return ""
		}
		req.Header = header
		resp, err := http.DefaultClient.Do(req) //nolint:gosec // See above.
		if err != nil {
			return ""
		}
		defer resp.Body.Close()
		const limit = 1 << 12
		body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
		if err != nil || resp.StatusCode != http.StatusOK {
			return ""
		}
		return strings.TrimSpace(string(body))
	}
	header := http.Header{}
	if token := ask(http.MethodPut, "/latest/api/token", http.Header{"X-Aliyun-Ecs-Metadata-Token-Ttl-Seconds": {"60"}}); token != "" {
		header.Set("X-Aliyun-Ecs-Metadata-Token", token)
	}
	return ask(http.MethodGet, "/latest/meta-data/"+item, header)
}

// write gives the values, with what became of each setting as comments.
func write(out io.Writer, result Result) error {
	values, err := yaml.Marshal(result.Values)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	var text strings.Builder
	text.WriteString("# Values for the chart alicloud-controllers. What became of each setting:\n")
	for _, note := range result.Notes {
		fmt.Fprintf(&text, "#   %s: %s\n", note.Setting, note.Became)
	}
	for _, key := range []string{"region", "vpcID"} {
		if result.Values[key] == "" {
			fmt.Fprintf(&text, "# %s is not in the cloud-config, and no metadata service answered: fill it in.\n", key)
		}
	}
	_, err = io.WriteString(out, text.String()+string(values))
	return err
}
