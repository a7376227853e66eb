//! The texts of labels as columns of `patterns.parquet`: each text is stored once, and shared by
//! all row groups.

use arrow_array::{ArrayRef, Int32Array, StringArray};
use message_trace::table::columns::keyed_array;
use rustc_hash::FxHashMap;

use super::shape_labels::ShapeLabels;
use crate::naming::{Naming, RoleLabels};

/// The labels of hops, by columns: sender, receiver, their ports, protocol.
pub(crate) struct HopTexts {
    src: LabelColumn,
    dst: LabelColumn,
    src_port: LabelColumn,
    dst_port: LabelColumn,
    protocol: LabelColumn,
    /// Names of operations by number, if operations are known.
    operations: Option<StringArray>,
}

/// A column of labels.
struct LabelColumn {
    texts: StringArray,
    /// The index of each hop's label in the texts. For a role, the labels of its further nodes
    /// follow the first.
    keys: Vec<i32>,
}

impl HopTexts {
    /// Collects all labels of `naming`, by roles if it has them; and the names of operations.
    pub(crate) fn from_naming(naming: &Naming, operations: Option<&[String]>) -> HopTexts {
        let hops = match naming.role_labels() {
            Some(by_role) => {
                (0..by_role.hop_count() as u32).map(|hop| by_role.hop_name(hop)).collect()
            }
            None => {
                (0..naming.hop_count() as u32).map(|hop| naming.hop_name(hop)).collect::<Vec<_>>()
            }
        };
        let ends = |ends: Vec<u32>| match naming.role_labels() {
            Some(by_role) => LabelColumn::from_roles(ends, by_role),
            None => LabelColumn::from_texts(ends.into_iter().map(|name| naming.label_text(name))),
        };
        HopTexts {
            src: ends(hops.iter().map(|hop| hop.src).collect()),
            dst: ends(hops.iter().map(|hop| hop.dst).collect()),
            src_port: LabelColumn::from_texts(
                hops.iter().map(|hop| naming.label_text(hop.src_port)),
            ),
            dst_port: LabelColumn::from_texts(
                hops.iter().map(|hop| naming.label_text(hop.dst_port)),
            ),
            protocol: LabelColumn::from_texts(hops.iter().map(|hop| hop.protocol.name())),
            operations: operations.map(StringArray::from_iter_values),
        }
    }

    /// Returns the columns of messages with these labels, in the order of the table.
    pub(crate) fn label_columns(&self, labels: &[ShapeLabels]) -> [ArrayRef; 5] {
        let HopTexts { src, dst, src_port, dst_port, protocol, .. } = self;
        [
            src.label_column(labels, |label| label.src),
            dst.label_column(labels, |label| label.dst),
            src_port.label_column(labels, |_| 0),
            dst_port.label_column(labels, |_| 0),
            protocol.label_column(labels, |_| 0),
        ]
    }

    /// Returns the column of the operations of messages with these labels, if operations are known.
    pub(crate) fn operation_column(&self, labels: &[ShapeLabels]) -> Option<ArrayRef> {
        let keys = labels.iter().map(|label| label.operation.map(|operation| operation as i32));
        Some(keyed_array(keys.collect(), self.operations.clone()?))
    }
}

impl LabelColumn {
    fn from_texts<'a>(texts: impl Iterator<Item = &'a str>) -> LabelColumn {
        let mut places: FxHashMap<&str, i32> = FxHashMap::default();
        let mut distinct = Vec::new();
        let keys = texts.map(|text| {
            *places.entry(text).or_insert_with(|| {
                distinct.push(text);
                distinct.len() as i32 - 1
            })
        });
        let keys = keys.collect();
        LabelColumn { texts: StringArray::from_iter_values(distinct), keys }
    }

    /// Creates the names of the nodes with these roles, as many as a path may have.
    fn from_roles(roles: Vec<u32>, by_role: &RoleLabels) -> LabelColumn {
        let mut places: FxHashMap<u32, i32> = FxHashMap::default();
        let mut distinct: Vec<String> = Vec::new();
        let keys = roles.into_iter().map(|role| {
            *places.entry(role).or_insert_with(|| {
                let first = distinct.len() as i32;
                let names = by_role.name_count(role).min(1 << u16::BITS);
                distinct.extend((0..names).map(|number| by_role.role(role).numbered_name(number)));
                first
            })
        });
        let keys = keys.collect();
        LabelColumn { texts: StringArray::from_iter_values(distinct), keys }
    }

    fn label_column(
        &self,
        labels: &[ShapeLabels],
        number: impl Fn(&ShapeLabels) -> u16,
    ) -> ArrayRef {
        let key = |label: &ShapeLabels| {
            self.keys.get(label.hop as usize).copied().unwrap_or_default()
                + i32::from(number(label))
        };
        keyed_array(Int32Array::from_iter_values(labels.iter().map(key)), self.texts.clone())
    }
}
