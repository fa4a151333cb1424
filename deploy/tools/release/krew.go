package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/images/build"
)

// krewFile has the name of the plugin, as krew wants it.
const krewFile = "alicloud.yaml"

// krew is the manifest by which krew installs the plugin of kubectl from where the files of a release are.
func krew(version, downloads string, files map[string][]byte) ([]byte, error) {
	type labels struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
	type selector struct {
		MatchLabels labels `json:"matchLabels"`
	}
	type platform struct {
		Selector selector `json:"selector"`
		URI      string   `json:"uri"`
		SHA256   string   `json:"sha256"`
		Bin      string   `json:"bin"`
	}
	var platforms []platform
	for _, p := range build.PluginPlatforms() {
		archive := build.PluginArchive(version, p)
		data, ok := files[archive]
		if !ok {
			continue
		}
		sum := sha256.Sum256(data)
		system, arch, _ := strings.Cut(p, "/")
		platforms = append(platforms, platform{Selector: selector{labels{system, arch}}, SHA256: hex.EncodeToString(sum[:]),
			URI: strings.TrimSuffix(downloads, "/") + "/v" + version + "/" + archive, Bin: build.PluginProgram(system)})
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin",
		"metadata": map[string]string{"name": strings.TrimSuffix(krewFile, ".yaml")},
		"spec": map[string]any{
			"version": "v" + version, "platforms": platforms,
			"shortDescription": "Says what stands in the way of Services, nodes and routes on Alibaba Cloud",
			"description": "Shows in one screen what stands in the way of a Service, a node or a route of a cluster with\n" +
				"Alibaba Cloud Controllers for Kubernetes, what the controllers would change, and how the rate limits of the cloud are used.\n",
		},
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", krewFile, err)
	}
	return text, nil
}
