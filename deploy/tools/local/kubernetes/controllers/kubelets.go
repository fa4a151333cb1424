package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/utils/client"
)

// The defaults of kwok, and of the kubelet.
const (
	podCIDR                         = "10.0.0.0/24" // of pods on nodes that have no range
	stageWorkers, nodesToSyncPodsOf = 4, 1
	leaseSeconds                    = 40 // renewed each ten seconds
)

// yamlBuffer is how much of a file is looked at to see whether it is JSON.
const yamlBuffer = 4096

// startKubelets starts the fake kubelets, which are kwok's. kwok's own command also serves logs and terminals, exports traces and reads
// kustomizations.
func startKubelets(ctx context.Context, o options) error {
	stages, err := readStages(o.stages)
	if err != nil {
		return fmt.Errorf("-fake-node-stages: %w", err)
	}
	cfg, err := kubeletsConfig(o.kubeconfig)
	if err != nil {
		return fmt.Errorf("make clients of the fake kubelets: %w", err)
	}
	cfg.ManageNodesWithAnnotationSelector, cfg.LocalStages = o.fakeNodes, stages
	kubelets, err := controllers.NewController(cfg)
	if err != nil {
		return fmt.Errorf("make the fake kubelets: %w", err)
	}
	if err := kubelets.Start(ctx); err != nil {
		return fmt.Errorf("start the fake kubelets: %w", err)
	}
	return nil
}

// readStages returns the stages that a file has for each kind of object.
func readStages(path string) (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for documents := yaml.NewYAMLOrJSONDecoder(file, yamlBuffer); ; {
		var document v1alpha1.Stage
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return stages, nil
		} else if err != nil {
			return nil, err
		}
		stage, err := internalversion.ConvertToInternalStage(&document)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %w", document.Name, err)
		}
		stages[stage.Spec.ResourceRef] = append(stages[stage.Spec.ResourceRef], stage)
	}
}

// kubeletsConfig has the defaults, and clients without a limit.
func kubeletsConfig(kubeconfig string) (controllers.Config, error) {
	clients, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return controllers.Config{}, err
	}
	rest, err := clients.ToRESTConfig()
	if err != nil {
		return controllers.Config{}, err
	}
	typed, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return controllers.Config{}, err
	}
	dynamic, err := clients.ToDynamicClient()
	if err != nil {
		return controllers.Config{}, err
	}
	mapper, err := clients.ToRESTMapper()
	if err != nil {
		return controllers.Config{}, err
	}
	return controllers.Config{
		ID: "fake-kubelets", Clock: clock.RealClock{}, TypedClient: typed, DynamicClient: dynamic, RESTMapper: mapper, CIDR: podCIDR,
		NodeLeaseDurationSeconds: leaseSeconds, NodeLeaseParallelism: stageWorkers,
		PodPlayStageParallelism: stageWorkers, NodePlayStageParallelism: stageWorkers,
		PodsOnNodeSyncParallelism: nodesToSyncPodsOf, EnablePodsOnNodeSyncListPager: true,
	}, nil
}
