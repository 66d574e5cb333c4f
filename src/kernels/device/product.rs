//! Products of matrices.

use super::arrange::Arranged;
use super::handle::{Device, int, long};
use super::table::DeviceTable;

/// A matrix in a table, and those of a batch behind it.
#[derive(Debug, Clone, Copy)]
pub struct TableMatrix<'a> {
    table: &'a DeviceTable<f32>,
    from: usize,
    rows: usize,
    columns: usize,
    /// From a row to the next, and from a column to the next.
    apart: [usize; 2],
    /// From an outer number of a batch to the next, and from an inner one.
    batch: [usize; 2],
}

impl<'a> TableMatrix<'a> {
    /// Rows one after the other, from number `from` of the table on.
    pub fn new(table: &'a DeviceTable<f32>, from: usize, rows: usize, columns: usize) -> Self {
        Self { table, from, rows, columns, apart: [columns, 1], batch: [0; 2] }
    }

    /// With so many numbers from a row to the next.
    pub fn apart(self, rows: usize) -> Self {
        Self { apart: [rows, self.apart[1]], ..self }
    }

    /// With so many numbers from one matrix of a batch to the next.
    pub fn batched(self, batch: [usize; 2]) -> Self {
        Self { batch, ..self }
    }

    /// Of each `share` inner numbers of a batch, which are so far from each other, number `at` alone.
    pub(super) fn of_each(self, share: usize, at: usize, apart: usize) -> Self {
        Self { from: self.from + at * apart, batch: [self.batch[0], share * apart], ..self }
    }

    /// Its transpose.
    pub fn transposed(self) -> Self {
        let Self { rows, columns, apart: [row, column], .. } = self;
        Self { rows: columns, columns: rows, apart: [column, row], ..self }
    }
}

/// How many products of one shape are made at once.
#[derive(Debug, Clone, Copy)]
pub struct ProductBatches {
    /// Outer and inner numbers.
    pub counts: [usize; 2],
    /// The right matrix is the same for so many inner numbers.
    pub share: usize,
}

impl ProductBatches {
    /// One product.
    pub const ONE: Self = Self { counts: [1; 2], share: 1 };
}

/// Which of k a row takes, by the tiles of 32 rows that attention has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KRange {
    /// All.
    All,
    /// Up to the end of its tile.
    ToTile,
    /// From the beginning of its tile.
    FromTile,
    /// All, and columns behind the tile are left out.
    ColumnsToTile,
}

/// The addend of a product.
#[derive(Debug, Clone, Copy)]
pub enum Added<'a> {
    /// Nothing.
    Nothing,
    /// A table of the same shape.
    Table(&'a DeviceTable<f32>),
    /// The values already in its place.
    Own,
    /// The sum of the earlier blocks of k, already in its place.
    Blocks,
}

/// A product, or a batch of them.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a> {
    /// The left matrix.
    pub a: TableMatrix<'a>,
    /// The right matrix.
    pub b: TableMatrix<'a>,
    /// How many there are.
    pub batches: ProductBatches,
    /// Which of k rows take.
    pub range: KRange,
    /// The addend.
    pub added: Added<'a>,
}

impl<'a> Product<'a> {
    /// One product, to which nothing is added.
    pub fn new(a: TableMatrix<'a>, b: TableMatrix<'a>) -> Self {
        let (batches, range, added) = (ProductBatches::ONE, KRange::All, Added::Nothing);
        Self { a, b, batches, range, added }
    }
}

/// Where a product goes: from number `from` of a table on.
#[derive(Debug)]
pub struct ProductPlace<'a> {
    pub table: &'a mut DeviceTable<f32>,
    pub from: usize,
    /// From a row to the next.
    pub apart: usize,
    /// From one matrix of a batch to the next.
    pub batch: [usize; 2],
}

/// The work of the groups of a launch.
enum Work<'a> {
    Batches,
    /// Rows of experts.
    Rows(&'a Arranged),
    /// Depths of experts.
    Depths(&'a Arranged),
}

impl Device {
    /// Writes `a b` to a table of its own.
    pub fn product(&self, c: &mut DeviceTable<f32>, product: Product<'_>) {
        let apart = product.b.columns;
        self.product_into(ProductPlace { table: c, from: 0, apart, batch: [0; 2] }, product);
    }

    /// Writes a product, or those of a batch.
    pub fn product_into(&self, c: ProductPlace<'_>, product: Product<'_>) {
        self.multiply(c, product, &Work::Batches);
    }

    /// Multiplies the rows of each expert by its matrix, of which the first is `b`; they are as far from each other as b's
    /// batch says.
    pub fn product_of_experts(
        &self,
        c: ProductPlace<'_>,
        a: TableMatrix<'_>,
        b: TableMatrix<'_>,
        experts: &Arranged,
    ) {
        self.multiply(c, Product::new(a, b), &Work::Rows(experts));
    }

    /// Multiplies `a` transposed by `b` over the rows of each expert, of which `a` and `b` have one for each choice. The
    /// matrices of experts are as far from each other as the batch of c says; without rows they are +0.
    pub fn product_over_experts(
        &self,
        c: ProductPlace<'_>,
        a: TableMatrix<'_>,
        b: TableMatrix<'_>,
        experts: &Arranged,
    ) {
        self.multiply(c, Product::new(a.transposed(), b), &Work::Depths(experts));
    }

    fn multiply(&self, c: ProductPlace<'_>, product: Product<'_>, work: &Work<'_>) {
        let Product { a, b, batches, range, added } = product;
        let (shape, nothing) = (self.products(), self.table::<i32>(0));
        let [outer, inner] = batches.counts;
        let row_groups = a.rows.div_ceil(shape.tall);
        let (by, list, groups) = match work {
            Work::Batches => (0, &nothing, [row_groups, outer * inner]),
            Work::Rows(experts) => (1, &experts.tiles, [experts.most_tiles(self), 1]),
            Work::Depths(experts) => (2, &experts.offsets, [row_groups, experts.experts]),
        };
        let none = self.table::<f32>(0);
        let (adding, other) = match added {
            Added::Nothing => (0, &none),
            Added::Table(other) => (1, other),
            Added::Own => (2, &none),
            Added::Blocks => (3, &none),
        };
        let range = match range {
            KRange::All => 0,
            KRange::ToTile => 1,
            KRange::FromTile => 2,
            KRange::ColumnsToTile => 3,
        };
        let groups = [b.columns.div_ceil(shape.wide), groups[0], groups[1]];
        self.launch(
            "product",
            groups,
            &[
                int(a.rows).into(),
                int(b.columns).into(),
                int(a.columns).into(),
                a.table.from(a.from).into(),
                int(a.apart[0]).into(),
                int(a.apart[1]).into(),
                long(a.batch[0]).into(),
                long(a.batch[1]).into(),
                b.table.from(b.from).into(),
                int(b.apart[0]).into(),
                int(b.apart[1]).into(),
                long(b.batch[0]).into(),
                long(b.batch[1]).into(),
                int(batches.share).into(),
                c.table.from(c.from).into(),
                int(c.apart).into(),
                long(c.batch[0]).into(),
                long(c.batch[1]).into(),
                other.into(),
                int(inner).into(),
                range.into(),
                by.into(),
                adding.into(),
                int(self.block()).into(),
                list.into(),
            ],
        );
    }
}
