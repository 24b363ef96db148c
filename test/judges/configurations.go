package judges

import (
	"crypto/tls"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	apiserverinstall "k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/apis/audit"
	auditinstall "k8s.io/apiserver/pkg/apis/audit/install"
	"k8s.io/apiserver/pkg/audit/policy"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
	"k8s.io/component-base/featuregate"
	kubeapiserver "k8s.io/kubernetes/pkg/kubeapiserver/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	kubeletvalidation "k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	proxyconfig "k8s.io/kubernetes/pkg/proxy/apis/config"
	proxyscheme "k8s.io/kubernetes/pkg/proxy/apis/config/scheme"
	proxyvalidation "k8s.io/kubernetes/pkg/proxy/apis/config/validation"
	ratelimit "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit"
	limitinstall "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit/install"
	limits "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit/validation"
	podsecurityload "k8s.io/pod-security-admission/admission/api/load"
	podsecurityvalidation "k8s.io/pod-security-admission/admission/api/validation"
)

// configurationsJudge decodes every configuration file strictly and validates it with the code of
// the program that reads it. It finds the files by the flags that name them; flagsJudge checks that
// such a file exists.
func configurationsJudge(cluster []*Machine) (findings []string) {
	for _, m := range cluster {
		find := func(what string, err error) {
			if err != nil {
				findings = append(findings, fmt.Sprintf("%s: %s: %v", m.Name, what, err))
			}
		}
		for _, f := range m.Under("/etc/kubernetes") {
			if path.Ext(f.Path) == ".conf" {
				find(f.Path, checkKubeconfig(f.Content, m.see))
			}
		}
		processes, err := m.processes()
		find("command lines", err)
		for _, p := range processes {
			flags := flagValues(p.Command)
			for flag, check := range configurations[p.Name] {
				if f := p.See(flags[flag]); f != nil {
					find(p.Name+" "+flag, check(&p, f.Content))
				}
			}
		}
	}
	slices.Sort(findings)
	return findings
}

// configurations are the files that flags of a program name, with that which checks them for it.
var configurations = map[string]map[string]func(p *process, text []byte) error{
	"kube-apiserver": {
		"--admission-control-config-file": checkAdmission,
		"--audit-policy-file":             checkAuditPolicy,
		"--authentication-config":         checkAuthentication,
		"--encryption-provider-config":    checkEncryption,
	},
	"kube-controller-manager": {
		"--authentication-kubeconfig": checkOwnKubeconfig,
		"--authorization-kubeconfig":  checkOwnKubeconfig,
		"--kubeconfig":                checkOwnKubeconfig,
	},
	"kube-scheduler": {
		"--authentication-kubeconfig": checkOwnKubeconfig,
		"--authorization-kubeconfig":  checkOwnKubeconfig,
		"--kubeconfig":                checkOwnKubeconfig,
	},
	"kubelet":    {"--config": checkKubelet},
	"kube-proxy": {"--config": checkProxy},
}

// configurationDecoder knows the configuration files of kube-apiserver.
var configurationDecoder = strictDecoder(
	schemeOf(apiserverinstall.Install, auditinstall.Install, limitinstall.Install),
)

func checkAdmission(p *process, text []byte) error {
	config, err := decode[*apiserver.AdmissionConfiguration](configurationDecoder, text)
	if err != nil {
		return err
	}
	names := sets.New[string]()
	for _, plugin := range config.Plugins {
		if !slices.Contains(kubeapiserver.AllOrderedPlugins, plugin.Name) ||
			names.Has(plugin.Name) {
			return fmt.Errorf("plugin %s is unknown or configured twice", plugin.Name)
		}
		names.Insert(plugin.Name)
		if err := checkPlugin(p, &plugin); err != nil {
			return fmt.Errorf("plugin %s: %w", plugin.Name, err)
		}
	}
	return nil
}

// checkPlugin checks what is said to one admission plugin, in place or in a file of its own.
func checkPlugin(p *process, plugin *apiserver.AdmissionPluginConfiguration) error {
	var text []byte
	if plugin.Configuration != nil {
		text = plugin.Configuration.Raw
	} else if f := p.See(plugin.Path); f != nil {
		text = f.Content
	} else {
		return fmt.Errorf("it needs %q, which is not there", plugin.Path)
	}
	switch plugin.Name {
	case "EventRateLimit":
		config, err := decode[*ratelimit.Configuration](configurationDecoder, text)
		if err != nil {
			return err
		}
		return limits.ValidateConfiguration(config).ToAggregate()
	case "PodSecurity":
		config, err := podsecurityload.LoadFromData(text)
		if err != nil {
			return err
		}
		return podsecurityvalidation.ValidatePodSecurityConfiguration(config).ToAggregate()
	}
	return errors.New("no validator is known of its configuration")
}

func checkAuditPolicy(_ *process, text []byte) error {
	if _, err := decode[*audit.Policy](configurationDecoder, text); err != nil {
		return err
	}
	_, err := policy.LoadPolicyFromBytes(text)
	return err
}

func checkAuthentication(p *process, text []byte) error {
	config, err := decode[*apiserver.AuthenticationConfiguration](configurationDecoder, text)
	if err != nil {
		return err
	}
	own := strings.Fields(flagValues(p.Command)["--service-account-issuer"])
	return validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(),
		config, own).ToAggregate()
}

func checkEncryption(_ *process, text []byte) error {
	config, err := decode[*apiserver.EncryptionConfiguration](configurationDecoder, text)
	if err != nil {
		return err
	}
	return validation.ValidateEncryptionConfiguration(config, false).ToAggregate()
}

var kubeletDecoder = func() runtime.Decoder {
	scheme, _, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		panic(err) // its own kinds do not fit together
	}
	return strictDecoder(scheme)
}()

// validate validates a configuration of the kubelet, but for what the validator sees of the machine
// that it runs on.
func validate(config *kubeletconfig.KubeletConfiguration, gates featuregate.FeatureGate) error {
	return utilerrors.FilterOut(kubeletvalidation.ValidateKubeletConfiguration(config, gates),
		func(err error) bool {
			return strings.Contains(err.Error(),
				"kubelet is configured to not run on a host using cgroup v1")
		})
}

// checkKubelet reads a configuration as the kubelet of this minor does, even if an older kubelet
// runs on the machine: a field that was removed since must not be rendered.
func checkKubelet(p *process, text []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r) // its defaults panic at a feature gate that they do not know
		}
	}()
	config, err := decode[*kubeletconfig.KubeletConfiguration](kubeletDecoder, text)
	if err != nil {
		return err
	}
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := gates.SetFromMap(config.FeatureGates); err != nil {
		return err
	}
	if err := validate(config, gates); err != nil {
		return err
	}
	if err := setUp(config); err != nil {
		return err
	}
	for _, file := range []string{config.StaticPodPath, config.Authentication.X509.ClientCAFile} {
		if file != "" && p.See(file) == nil {
			return fmt.Errorf("it needs %s, which is not there", file)
		}
	}
	if config.TLSCertFile == "" && config.TLSPrivateKeyFile == "" {
		return nil
	}
	cert, key := p.See(config.TLSCertFile), p.See(config.TLSPrivateKeyFile)
	if cert == nil || key == nil {
		return fmt.Errorf("it needs %s and %s, which are not both there", config.TLSCertFile,
			config.TLSPrivateKeyFile)
	}
	_, err = tls.X509KeyPair(cert.Content, key.Content)
	return err
}

var proxyDecoder = strictDecoder(proxyscheme.Scheme)

func checkProxy(p *process, text []byte) error {
	config, err := decode[*proxyconfig.KubeProxyConfiguration](proxyDecoder, text)
	if err != nil {
		return err
	}
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := gates.SetFromMap(config.FeatureGates); err != nil {
		return err
	}
	if errs := proxyvalidation.Validate(config); len(errs) > 0 {
		return errs.ToAggregate()
	}
	f := p.See(config.ClientConnection.Kubeconfig)
	if f == nil {
		return fmt.Errorf("it needs %s, which is not there", config.ClientConnection.Kubeconfig)
	}
	return checkKubeconfig(f.Content, p.See)
}

func checkOwnKubeconfig(p *process, text []byte) error { return checkKubeconfig(text, p.See) }

var kubeconfigDecoder = strictDecoder(clientcmdlatest.Scheme)

// checkKubeconfig does with a kubeconfig all that a client does before it connects. It reads the
// files that the kubeconfig names where the client would find them.
func checkKubeconfig(text []byte, see sight) error {
	config, err := decode[*clientcmdapi.Config](kubeconfigDecoder, text)
	if err != nil {
		return err
	}
	var absent []string
	embed := func(file *string, data *[]byte) {
		if *file == "" || len(*data) > 0 {
			return
		}
		if f := see(*file); f != nil {
			*file, *data = "", f.Content
		} else {
			absent = append(absent, *file)
		}
	}
	for _, cluster := range config.Clusters {
		embed(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData)
	}
	for _, user := range config.AuthInfos {
		token := []byte(user.Token)
		embed(&user.ClientCertificate, &user.ClientCertificateData)
		embed(&user.ClientKey, &user.ClientKeyData)
		embed(&user.TokenFile, &token)
		user.Token = string(token)
	}
	if len(absent) > 0 {
		return fmt.Errorf("it needs %s, which is not there", strings.Join(absent, " and "))
	}
	if err := clientcmd.Validate(*config); err != nil {
		return err
	}
	client, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return err
	}
	if _, _, err := rest.DefaultServerUrlFor(client); err != nil {
		return err
	}
	_, err = rest.TLSConfigFor(client)
	return err
}
