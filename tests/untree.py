"""A machine from its .tree file (docs/reference/tree-format.md) as a folder of real files, for programs that read folders:
untree(tree, folder). Commands and answers of libraries are left out."""
import pathlib


def entries_of(tree):
    """Path → ('file', text), ('link', target) or ('folder', ''), as the last line of each path says."""
    entries = {}
    lines = iter(tree.read_text().splitlines()[1:])
    for line in lines:
        if not line or line[0] == '#':
            continue
        if line.startswith('base: '):
            entries.update(entries_of(tree.parent / line[6:]))
        elif line[0] in '$@~':
            if ' <<' in line:
                block(lines, line)
        elif line.startswith('- '):
            gone = line[2:]
            entries = {path: one for path, one in entries.items() if path != gone and not path.startswith(gone + '/')}
        elif ' <<' in line:
            entries[line.split(' <<')[0]] = ('file', block(lines, line))
        elif ' -> ' in line:
            path, target = line.split(' -> ', 1)
            entries[path] = ('link', target)
        elif ' ! ' in line:
            continue  # a file that fails when it is read: no folder can hold one
        elif ' =' in line:
            path, text = line.split(' =', 1)
            entries[path] = ('file', '' if text.startswith(' hex:') else text.lstrip() + '\n')
        else:
            entries[line.rstrip('/')] = ('folder', '')
    return entries


def block(lines, line):
    end = line.rsplit('<<', 1)[1]
    return ''.join(text + '\n' for text in iter(lambda: next(lines), end))


def untree(tree, folder):
    for path, (kind, text) in entries_of(pathlib.Path(tree)).items():
        place = folder / path.lstrip('/')
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == 'folder':
            place.mkdir(exist_ok=True)
        elif kind == 'link':
            if not place.is_symlink():
                place.symlink_to(str(folder) + text if text.startswith('/') else text)
        elif not place.is_dir():
            place.write_text(text)
