#!/usr/bin/env python3
"""deploy/kubernetes holds together: its files, the fields of each kind, names that lead somewhere, options that the monitor
knows, and no more privilege than docs/how-to/kubernetes.md says. Each check is shown a manifest that is broken on purpose.
kubectl builds all of it where there is one. Skips itself without PyYAML."""
import copy
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: no PyYAML")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "deploy/kubernetes"
RAILBED = os.environ["RAILBED"]
ANY = object()  # a value of any form
BESIDE = {".gitignore", ".containerignore", "Containerfile", "kustomization.yaml"}

# The fields of the Kubernetes API reference that are used here. A list holds the form of its items; {"*": …} has free keys.
FREE = {"*": ANY}
META = {"name": ANY, "namespace": ANY, "labels": FREE, "annotations": FREE}
SECURITY = {"privileged": ANY, "allowPrivilegeEscalation": ANY, "readOnlyRootFilesystem": ANY, "runAsNonRoot": ANY,
            "runAsUser": ANY, "runAsGroup": ANY, "capabilities": {"add": ANY, "drop": ANY}, "seccompProfile": {"type": ANY}}
PROBE = {"exec": {"command": ANY}, "periodSeconds": ANY, "timeoutSeconds": ANY, "failureThreshold": ANY}
CONTAINER = {
    "name": ANY, "image": ANY, "command": ANY, "args": ANY, "securityContext": SECURITY, "resources": {"requests": FREE, "limits": FREE},
    "env": [{"name": ANY, "value": ANY, "valueFrom": {"fieldRef": {"fieldPath": ANY}}}],
    "ports": [{"name": ANY, "containerPort": ANY, "hostPort": ANY}], "startupProbe": PROBE, "livenessProbe": PROBE,
    "volumeMounts": [{"name": ANY, "mountPath": ANY, "readOnly": ANY}]}
POD = {
    "serviceAccountName": ANY, "automountServiceAccountToken": ANY, "enableServiceLinks": ANY, "priorityClassName": ANY,
    "terminationGracePeriodSeconds": ANY, "hostNetwork": ANY, "hostPID": ANY, "shareProcessNamespace": ANY, "dnsPolicy": ANY, "nodeSelector": FREE,
    "runtimeClassName": ANY, "tolerations": [{"key": ANY, "operator": ANY, "value": ANY, "effect": ANY}],
    "securityContext": {"runAsNonRoot": ANY, "runAsUser": ANY, "runAsGroup": ANY, "fsGroup": ANY, "seccompProfile": {"type": ANY}},
    "containers": [CONTAINER], "initContainers": [CONTAINER],
    "volumes": [{"name": ANY, "configMap": {"name": ANY}, "secret": {"secretName": ANY, "defaultMode": ANY},
                 "emptyDir": {"sizeLimit": ANY}, "hostPath": {"path": ANY, "type": ANY}}]}
SECRET_KEY = {"name": ANY, "key": ANY}
KINDS = {
    "Namespace": {}, "ServiceAccount": {"automountServiceAccountToken": ANY},
    "PriorityClass": {"value": ANY, "preemptionPolicy": ANY, "description": ANY},
    "Service": {"spec": {"clusterIP": ANY, "selector": FREE, "ports": [{"name": ANY, "port": ANY, "targetPort": ANY}]}},
    "DaemonSet": {"spec": {
        "selector": {"matchLabels": FREE}, "updateStrategy": {"type": ANY, "rollingUpdate": {"maxUnavailable": ANY}},
        "template": {"metadata": META, "spec": POD}}},
    "PodMonitor": {"spec": {"selector": {"matchLabels": FREE}, "podMetricsEndpoints": [{
        "port": ANY, "scheme": ANY, "interval": ANY, "scrapeTimeout": ANY,
        "tlsConfig": {"serverName": ANY, "ca": {"secret": SECRET_KEY}}, "basicAuth": {"username": SECRET_KEY, "password": SECRET_KEY},
        "relabelings": [{"sourceLabels": ANY, "targetLabel": ANY, "replacement": ANY}]}]}},
    "Kustomization": {"namespace": ANY, "resources": ANY, "components": ANY, "configMapGenerator": [{"name": ANY, "files": ANY}],
                      "secretGenerator": [{"name": ANY, "files": ANY}], "images": [{"name": ANY, "newName": ANY, "newTag": ANY}]},
    "Component": {"resources": ANY, "patches": [{"path": ANY}]}}
RULES = {"rules": [{"apiGroups": ANY, "resources": ANY, "verbs": ANY}]}
BINDING = {"roleRef": {"apiGroup": ANY, "kind": ANY, "name": ANY}, "subjects": [{"apiGroup": ANY, "kind": ANY, "name": ANY}]}
KINDS |= {"Role": RULES, "ClusterRole": RULES, "RoleBinding": BINDING, "ClusterRoleBinding": BINDING}
KUSTOMIZE = {"Kustomization", "Component"}


def load_all():
    """What is in every YAML file, by its path below FOLDER; cluster.yaml is railbed's own."""
    files = {str(path.relative_to(FOLDER)): path for path in FOLDER.rglob("*.yaml") if "secret" not in path.parts}
    return {name: yaml.safe_load(path.read_text()) for name, path in sorted(files.items()) if name != "cluster.yaml"}


def unknown_keys(value, form, where):
    if form is ANY:
        return
    if value is None:  # a patch that takes a field away
        return
    if isinstance(form, list):
        if not isinstance(value, list):
            yield f"{where}: no list"
            return
        for index, item in enumerate(value):
            if item != {"$patch": "replace"}:
                yield from unknown_keys(item, form[0], f"{where}[{index}]")
    elif not isinstance(value, dict):
        yield f"{where}: no mapping"
    else:
        for key, inner in value.items():
            if key not in form and "*" not in form:
                yield f"{where}: no field is called {key}"
            else:
                yield from unknown_keys(inner, form.get(key, form.get("*")), f"{where}.{key}")


def wrong_fields(manifests):
    for name, manifest in manifests.items():
        kind = manifest.get("kind")
        if kind not in KINDS:
            yield f"{name}: the kind {kind} is not known"
            continue
        head = {"apiVersion": ANY, "kind": ANY} | ({} if kind in KUSTOMIZE else {"metadata": META})
        yield from unknown_keys(manifest, head | KINDS[kind], name)


def named_files(name, manifest):
    folder = pathlib.PurePath(name).parent
    for one in manifest.get("resources", []) + [patch["path"] for patch in manifest.get("patches", [])]:
        yield str(folder / one)
    for generator in manifest.get("configMapGenerator", []):
        yield from (str(folder / file) for file in generator["files"])


def wrong_files(manifests):
    there = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*")
             if path.is_file() and path.name not in BESIDE and "secret" not in path.parts and path != FOLDER / "railbed"}
    named = {file for name, one in manifests.items() if one["kind"] in KUSTOMIZE for file in named_files(name, one)}
    yield from (f"{file} is named and not there" for file in sorted(named - there))
    yield from (f"{file} is there and nothing names it" for file in sorted(there - named))


def merge(base, patch):
    """A strategic merge as far as it is used here: lists go by their items' names, and may say that they replace."""
    if isinstance(patch, dict):
        merged = dict(base) if isinstance(base, dict) else {}
        for key, value in patch.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = merge(merged.get(key), value)
        return merged
    if isinstance(patch, list) and patch and isinstance(patch[0], dict):
        if patch[0] == {"$patch": "replace"}:
            return patch[1:]
        merged = {item["name"]: item for item in base or []}
        for item in patch:
            merged[item["name"]] = merge(merged.get(item["name"]), item)
        return list(merged.values())
    return patch


def daemon_sets(manifests):
    base = manifests["daemonset.yaml"]
    yield "base", base
    for component in ("gpu", "whole-node"):
        yield component, merge(base, manifests[f"components/{component}/daemonset.yaml"])


def wrong_labels(manifests):
    daemons, service = manifests["daemonset.yaml"]["spec"], manifests["service.yaml"]["spec"]
    monitor = manifests["components/pod-monitor/podmonitor.yaml"]["spec"]
    labels = daemons["template"]["metadata"]["labels"]
    for who, selector in (("DaemonSet", daemons["selector"]["matchLabels"]), ("Service", service["selector"]),
                          ("PodMonitor", monitor["selector"]["matchLabels"])):
        if not selector or not selector.items() <= labels.items():
            yield f"the {who} selects {selector}, and pods are labelled {labels}"


def wrong_names(manifests):
    pod = manifests["daemonset.yaml"]["spec"]["template"]["spec"]
    main = manifests["kustomization.yaml"]
    known = {one["metadata"]["name"] for name, one in manifests.items() if name in ("serviceaccount.yaml", "priorityclass.yaml")}
    known |= {one["name"] for one in main["configMapGenerator"] + main["secretGenerator"] + main["images"]}
    used = [pod["serviceAccountName"], pod["priorityClassName"], pod["containers"][0]["image"]]
    used += [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
    used += [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
    yield from (f"nothing is called {name}" for name in used if name not in known)
    for name in ("components/gpu/daemonset.yaml", "components/whole-node/daemonset.yaml"):
        if manifests[name]["metadata"]["name"] != manifests["daemonset.yaml"]["metadata"]["name"]:
            yield f"{name} patches another DaemonSet"


def wrong_volumes(manifests):
    for which, daemons in daemon_sets(manifests):
        pod = daemons["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        containers = pod["containers"] + pod.get("initContainers", [])
        mounted = {mount["name"] for one in containers for mount in one["volumeMounts"]}
        yield from (f"{which}: no volume is called {name}" for name in sorted(mounted - volumes))
        yield from (f"{which}: the volume {name} is not mounted" for name in sorted(volumes - mounted))
        if any(len(volume) != 2 for volume in pod["volumes"]):
            yield f"{which}: a volume is of one sort"


def known_options():
    text = subprocess.run([RAILBED, "monitor", "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", text, re.M))


def wrong_arguments(manifests, known=frozenset(known_options())):
    for which, daemons in daemon_sets(manifests):
        container = daemons["spec"]["template"]["spec"]["containers"][0]
        args = container["args"]
        if args[0] != "monitor":
            yield f"{which}: the command is {args[0]}"
        yield from (f"{which}: railbed monitor has no {arg}" for arg in args
                    if arg.startswith("-") and arg.split("=")[0] not in known)
        # What an argument names lies in a volume, seen from the root that the program has.
        root = "/host" if container["command"][0].endswith("chroot") else ""
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        for path in (arg.split("=")[-1] for arg in args):
            if path.startswith("/") and str(pathlib.PurePath(root + path).parent) not in mounts:
                yield f"{which}: {path} lies in no volume"
        variables = {one["name"] for one in container["env"]}
        yield from (f"{which}: no variable is called {name}" for name in re.findall(r"\$\((\w+)\)", " ".join(args))
                    if name not in variables)


def wrong_privileges(manifests):
    for which, daemons in daemon_sets(manifests):
        pod = daemons["spec"]["template"]["spec"]
        for one in pod["containers"] + pod.get("initContainers", []):
            security, whole = one["securityContext"], which == "whole-node" and one["name"] == "monitor"
            if security.get("privileged") is not whole:
                yield f"{which}: {one['name']} is privileged, or must be"
            if security.get("allowPrivilegeEscalation") is not whole:
                yield f"{which}: {one['name']} may gain privileges, or must"
            if not whole and security.get("capabilities") != {"drop": ["ALL"]}:
                yield f"{which}: {one['name']} keeps capabilities"
            # A read-only view would be judged as a disk that failed.
            if security.get("readOnlyRootFilesystem") is not (one["name"] != "monitor"):
                yield f"{which}: the root of {one['name']} is read-only, or must be"
        whole = which == "whole-node"
        if pod["securityContext"]["runAsNonRoot"] is whole or (pod["securityContext"]["runAsUser"] == 0) is not whole:
            yield f"{which}: runs as the wrong user"
        if (pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault") is whole:
            yield f"{which}: the wrong system calls"
        if pod["hostNetwork"] is not True or pod.get("hostPID", False) is not whole or "hostIPC" in pod:
            yield f"{which}: the wrong namespaces of the node"
        if any("hostPath" in volume for volume in pod["volumes"]) is not whole:
            yield f"{which}: folders of the node"
        if pod["automountServiceAccountToken"] is not False:
            yield f"{which}: holds a token"
    if manifests["serviceaccount.yaml"]["automountServiceAccountToken"] is not False:
        yield "the ServiceAccount hands out tokens"


def wrong_ports(manifests):
    service = manifests["service.yaml"]["spec"]
    if service["clusterIP"] != "None":
        yield "the Service is not headless"
    for which, daemons in daemon_sets(manifests):
        container = daemons["spec"]["template"]["spec"]["containers"][0]
        listen, = [arg for arg in container["args"] if arg.startswith("--listen=")]
        port, = container["ports"]
        said = {int(listen.rsplit(":", 1)[1]), port["containerPort"], port["hostPort"], service["ports"][0]["port"]}
        for probe in ("startupProbe", "livenessProbe"):
            words = container[probe]["exec"]["command"]
            said |= {int(words[words.index("--resolve") + 1].split(":")[1]), int(re.search(r":(\d+)/-/healthy$", words[-1])[1])}
        if len(said) != 1:
            yield f"{which}: ports {sorted(said)}"
        endpoint = manifests["components/pod-monitor/podmonitor.yaml"]["spec"]["podMetricsEndpoints"][0]["port"]
        if {port["name"], service["ports"][0]["targetPort"]} != {endpoint}:
            yield f"{which}: the port's name"


def wrong_agent(manifests):
    """The pods that agents are started in, and what those who start them may do: no more than this."""
    base = manifests["agent/daemonset.yaml"]
    for which in ("base", "rdma"):
        daemons = base if which == "base" else merge(base, manifests["agent/components/rdma/daemonset.yaml"])
        pod, rdma = daemons["spec"]["template"]["spec"], which == "rdma"
        container, = pod["containers"]
        if any(container["securityContext"][field] is not rdma for field in ("privileged", "allowPrivilegeEscalation")):
            yield f"{which}: the agent is privileged, or must be"
        if not rdma and container["securityContext"]["capabilities"] != {"drop": ["ALL"]}:
            yield f"{which}: the agent keeps capabilities"
        if pod["hostNetwork"] is not True or not {"hostPID", "hostIPC"}.isdisjoint(pod) or pod["automountServiceAccountToken"] is not False:
            yield f"{which}: the agent's pod has other namespaces of the node, or a token"
        if pod["securityContext"]["runAsNonRoot"] is rdma or (pod["securityContext"]["runAsUser"] == 0) is not rdma:
            yield f"{which}: the agent runs as the wrong user"
        if [volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume] != (["/dev/infiniband"] if rdma else []):
            yield f"{which}: the agent sees folders of the node"
        if {mount["name"] for mount in container["volumeMounts"]} != {volume["name"] for volume in pod["volumes"]}:
            yield f"{which}: the agent's volumes"
        if pod["serviceAccountName"] != manifests["agent/serviceaccount.yaml"]["metadata"]["name"]:
            yield f"{which}: the agent's account"
    # What railbed looks for unless it is told otherwise.
    selector = "app.kubernetes.io/name=" + base["spec"]["template"]["metadata"]["labels"].get("app.kubernetes.io/name", "")
    help_text = " ".join(subprocess.run([RAILBED, "verify", "--help"], check=True, capture_output=True, text=True).stdout.split())
    if f"(default {selector})" not in help_text or base["spec"]["selector"] != {"matchLabels": base["spec"]["template"]["metadata"]["labels"]}:
        yield f"railbed does not look for {selector}"
    if f"(default {manifests['agent/kustomization.yaml']['namespace']})" not in help_text:
        yield "railbed looks in another namespace"
    rights = {(resource, verb) for one in ("role", "nodes") for rule in manifests[f"agent/{one}.yaml"]["rules"]
              for resource in rule["resources"] for verb in rule["verbs"]}
    if rights != {("pods", "get"), ("pods", "list"), ("pods/exec", "create"), ("nodes", "list")}:
        yield f"the agent's users have the rights {sorted(rights)}"
    for role, binding in (("role", "rolebinding"), ("nodes", "nodesbinding")):
        role, reference = manifests[f"agent/{role}.yaml"], manifests[f"agent/{binding}.yaml"]["roleRef"]
        if (reference["kind"], reference["name"]) != (role["kind"], role["metadata"]["name"]):
            yield f"{binding} leads nowhere"
    if any(subject["kind"] == "ServiceAccount" for one in ("rolebinding", "nodesbinding") for subject in manifests[f"agent/{one}.yaml"]["subjects"]):
        yield "pods have rights"


CHECKS = (wrong_agent, wrong_fields, wrong_labels, wrong_names, wrong_volumes, wrong_arguments, wrong_privileges, wrong_ports, wrong_files)
POD_AT = ("daemonset.yaml", "spec", "template", "spec")
MONITOR_AT = (*POD_AT, "containers", 0)
# Which check, where, and the value that must not stand there.
BROKEN = (
    (wrong_fields, (*POD_AT, "hostNetwrok"), True),
    (wrong_fields, (*MONITOR_AT, "securityContext", "capabilites"), {}),
    (wrong_fields, (*POD_AT, "tolerations"), {"operator": "Exists"}),
    (wrong_fields, ("service.yaml", "kind"), "Servise"),
    (wrong_fields, ("components/pod-monitor/podmonitor.yaml", "spec", "podMetricsEndpoints", 0, "tlsconfig"), {}),
    (wrong_labels, ("service.yaml", "spec", "selector"), {"app": "other"}),
    (wrong_labels, ("daemonset.yaml", "spec", "template", "metadata", "labels"), {}),
    (wrong_names, (*POD_AT, "serviceAccountName"), "other"),
    (wrong_names, (*POD_AT, "volumes", 1, "secret", "secretName"), "other"),
    (wrong_names, ("components/gpu/daemonset.yaml", "metadata", "name"), "other"),
    (wrong_volumes, (*MONITOR_AT, "volumeMounts", 0, "name"), "other"),
    (wrong_volumes, ("components/whole-node/daemonset.yaml", "spec", "template", "spec", "volumes", 0, "name"), "hots"),
    (wrong_arguments, (*MONITOR_AT, "args", 3), "--lisen=0.0.0.0:9885"),
    (wrong_arguments, (*MONITOR_AT, "args", 2), "--node=$(NODENAME)"),
    (wrong_arguments, (*MONITOR_AT, "args", 1), "/etc/railbed/cluster.yaml"),
    (wrong_privileges, (*MONITOR_AT, "securityContext", "privileged"), True),
    (wrong_privileges, (*MONITOR_AT, "securityContext", "allowPrivilegeEscalation"), True),
    (wrong_privileges, (*MONITOR_AT, "securityContext", "capabilities"), {"drop": ["ALL"], "add": ["SYSLOG"]}),
    (wrong_privileges, (*MONITOR_AT, "securityContext", "readOnlyRootFilesystem"), True),
    (wrong_privileges, (*POD_AT, "securityContext", "runAsUser"), 0),
    (wrong_privileges, (*POD_AT, "securityContext", "seccompProfile", "type"), "Unconfined"),
    (wrong_privileges, (*POD_AT, "hostPID"), True),
    (wrong_privileges, (*POD_AT, "volumes", 2), {"name": "state", "hostPath": {"path": "/"}}),
    (wrong_privileges, ("serviceaccount.yaml", "automountServiceAccountToken"), True),
    (wrong_ports, (*MONITOR_AT, "args", 3), "--listen=0.0.0.0:9886"),
    (wrong_ports, ("service.yaml", "spec", "ports", 0, "port"), 9886),
    (wrong_ports, (*MONITOR_AT, "livenessProbe", "exec", "command", -1), "https://railbed-monitor:9886/-/healthy"),
    (wrong_files, ("kustomization.yaml", "resources", 0), "nmespace.yaml"),
    (wrong_agent, ("agent/role.yaml", "rules", 1, "verbs"), ["create", "delete"]),
    (wrong_agent, ("agent/nodes.yaml", "rules", 0, "resources"), ["nodes", "secrets"]),
    (wrong_agent, ("agent/rolebinding.yaml", "roleRef", "kind"), "ClusterRole"),
    (wrong_agent, ("agent/rolebinding.yaml", "subjects", 0, "kind"), "ServiceAccount"),
    (wrong_agent, ("agent/kustomization.yaml", "namespace"), "other"),
    (wrong_agent, ("agent/serviceaccount.yaml", "metadata", "name"), "other"),
    (wrong_agent, ("agent/daemonset.yaml", *POD_AT[1:], "hostPID"), True),
    (wrong_agent, ("agent/daemonset.yaml", *MONITOR_AT[1:], "securityContext", "privileged"), True),
    (wrong_agent, ("agent/daemonset.yaml", *MONITOR_AT[1:], "securityContext", "capabilities"), {"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
    (wrong_agent, ("agent/daemonset.yaml", *POD_AT[1:], "volumes", 0), {"name": "cache", "hostPath": {"path": "/"}}),
    (wrong_agent, ("agent/components/rdma/daemonset.yaml", *MONITOR_AT[1:], "securityContext", "privileged"), False),
    (wrong_agent, ("agent/daemonset.yaml", "spec", "template", "metadata", "labels"), {"app.kubernetes.io/name": "x"}),
    (wrong_files, ("components/gpu/kustomization.yaml", "patches"), []),
)


def broken_ones_are_found(manifests):
    for check, (*way, last), value in BROKEN:
        changed = copy.deepcopy(manifests)
        place = changed
        for step in way:
            place = place[step]
        place[last] = value
        assert list(check(changed)), f"{check.__name__} does not see {value!r} at {[*way, last]}"


def monitor_reads_the_example():
    seen = subprocess.run([RAILBED, "monitor", str(FOLDER / "cluster.yaml"), "--node", "gpu01", "--once"], capture_output=True, text=True,
                          timeout=120)
    assert seen.returncode == 0 and 'rule="gpu.count"' in seen.stdout, seen.stderr


def build(kubectl, folder, components, kustomization="kustomization.yaml"):
    text = (FOLDER / kustomization).read_text() + "components: [" + ", ".join(f"components/{one}" for one in components) + "]\n"
    (folder / "kustomization.yaml").write_text(text)
    built = subprocess.run([kubectl, "kustomize", str(folder)], capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    return {one["kind"]: one for one in yaml.safe_load_all(built.stdout)}


def kubectl_builds_agent(manifests, kubectl):
    """With and without RDMA."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "agent"
        shutil.copytree(FOLDER / "agent", folder)
        for which in ([], ["rdma"]):
            (folder / "kustomization.yaml").write_text((FOLDER / "agent/kustomization.yaml").read_text())
            built = build(kubectl, folder, which, "agent/kustomization.yaml")
            assert set(built) == {"Namespace", "ServiceAccount", "DaemonSet", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
            container, = built["DaemonSet"]["spec"]["template"]["spec"]["containers"]
            assert container["securityContext"]["privileged"] is bool(which), container
            assert built["Role"]["rules"] == manifests["agent/role.yaml"]["rules"]


def kubectl_builds(manifests, kubectl):
    """What kustomize makes of each component is what this test judged."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "kubernetes"
        shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("secret", "railbed"))
        (folder / "secret").mkdir()
        for file in manifests["kustomization.yaml"]["secretGenerator"][0]["files"]:
            (folder / file).write_text("x\n")
        assert "PodMonitor" in build(kubectl, folder, ["pod-monitor"])
        for which, ours in daemon_sets(manifests):
            built = build(kubectl, folder, [] if which == "base" else [which])
            assert {"Namespace", "ServiceAccount", "ConfigMap", "Secret", "Service", "PriorityClass"} <= built.keys(), built.keys()
            theirs, ours = (one["spec"]["template"]["spec"] for one in (built["DaemonSet"], ours))
            for field in ("hostNetwork", "hostPID", "securityContext", "runtimeClassName", "nodeSelector"):
                assert theirs.get(field) == ours.get(field), (which, field, theirs.get(field))
            for field in ("args", "command", "securityContext", "livenessProbe", "volumeMounts"):
                assert theirs["containers"][0][field] == ours["containers"][0][field], (which, field)
            assert sorted(one["name"] for one in theirs["volumes"]) == sorted(one["name"] for one in ours["volumes"]), which


def main():
    manifests = load_all()
    found = [complaint for check in CHECKS for complaint in check(manifests)]
    if found:
        print("\n".join(found))
        return 1
    broken_ones_are_found(manifests)
    monitor_reads_the_example()
    kubectl = shutil.which("kubectl")
    if kubectl:
        kubectl_builds(manifests, kubectl)
        kubectl_builds_agent(manifests, kubectl)
    print(f"{len(manifests)} manifests hold together, {len(BROKEN)} broken ones are found" + (", and kubectl builds them" if kubectl else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
