/**
 * Puts nodes under their parents, the most wanted first. One whose parent is not among them is a root.
 * @param {Array<{key: string, parent: ?string, hits: number}>} nodes
 * @returns {Array<{node: Object, children: Array}>}
 */
export function treeOf(nodes) {
    const entries = new Map(nodes.map(node => [node.key, {node, children: []}]));
    const roots = [];
    for (const entry of entries.values()) {
        const parent = entry.node.parent === entry.node.key ? undefined : entries.get(entry.node.parent);
        (parent?.children ?? roots).push(entry);
    }
    const sort = list => list.sort((one, other) => other.node.hits - one.node.hits);
    entries.forEach(entry => sort(entry.children));
    return sort(roots);
}
